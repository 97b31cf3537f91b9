// Simulates copies and host ops nanosecond by nanosecond, directly by the rules of
// docs/concepts/schedules.md. Tests compare this slow simulation with simulators that jump from event to
// event.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace rematlas {

/// A copy or op that waits in queue 0 (to the host), 1 (to the device) or 2 (ops on the host).
struct TickWork {
    int queue = 0;
    std::int64_t alone = 0, contended = 0, latency = 0;
    std::vector<int> after = {};
    bool begun = false, done = false;
    std::int64_t end = -1;
    std::int64_t ticks_alone = 0, ticks_contended = 0;

    bool moves() const { return begun && !done && latency == 0; }
    bool complete() const { return ticks_alone * contended + ticks_contended * alone >= alone * contended; }
};

class TickQueues {
  public:
    std::int64_t now = 0;
    std::vector<TickWork> works;

    int add(TickWork work) {
        works.push_back(std::move(work));
        settle();
        return static_cast<int>(works.size()) - 1;
    }
    void move_to(std::int64_t time) {
        while (now < time) tick();
    }
    void wait_for(int work) {
        while (!works[static_cast<std::size_t>(work)].done) tick();
    }

  private:
    /// Returns the first unfinished work of a queue, or nullptr.
    TickWork* head(int queue) {
        for (TickWork& work : works)
            if (work.queue == queue && !work.done) return &work;
        return nullptr;
    }

    void settle() {
        for (int round = 0; round < static_cast<int>(works.size()) + 1; ++round) {
            for (int queue = 0; queue < 3; ++queue) {
                TickWork* work = head(queue);
                if (!work) continue;
                bool ready = true;
                for (int before : work->after)
                    ready = ready && (before < 0 || works[static_cast<std::size_t>(before)].done);
                work->begun = work->begun || ready;
                if (!work->moves() || !work->complete()) continue;
                work->done = true;
                work->end = now;
            }
        }
    }

    void tick() {
        const std::array heads{head(0), head(1), head(2)};
        const bool both = heads[0] && heads[1] && heads[0]->moves() && heads[1]->moves();
        for (int queue = 0; queue < 3; ++queue) {
            TickWork* work = heads[static_cast<std::size_t>(queue)];
            if (!work || !work->begun) continue;
            if (work->latency > 0)
                --work->latency;
            else
                ++(both && queue < 2 ? work->ticks_contended : work->ticks_alone);
        }
        ++now;
        settle();
    }
};

}  // namespace rematlas
