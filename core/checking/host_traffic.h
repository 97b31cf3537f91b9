// The checker's own clock for compute, for the copies on the two links and for the ops on the host. It
// follows "Beside compute" in docs/concepts/schedules.md and shares no code with the simulator's queues.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <set>
#include <tuple>
#include <vector>

namespace rematlas {

enum class Way { out, in, host };

class HostTraffic {
  public:
    using TaskId = std::size_t;

    std::int64_t clock() const { return clock_; }

    /// Advances the clock by `time`. Copies and ops on the host go on during that time.
    void compute(std::int64_t time);
    void await(TaskId task);

    /// Adds a copy at the end of the queue of its direction. The copy begins when all copies before it in the
    /// queue and all tasks of `first` are done. `alone` and `contended` are its nanoseconds while the other
    /// direction is idle and while it is busy.
    TaskId copy(Way way, int tensor, std::int64_t alone, std::int64_t contended, std::int64_t latency,
                std::set<TaskId> first);
    TaskId run_on_host(int op, std::int64_t time, std::set<TaskId> first);

    /// The tasks that are not done: (queue, tensor or op, latency left, share already moved).
    using UnderWay = std::vector<std::tuple<Way, int, std::int64_t, unsigned __int128>>;
    UnderWay under_way() const;

    /// Returns the time so far in which the queue was not idle.
    std::int64_t busy(Way way) const { return busy_[static_cast<std::size_t>(way)]; }

  private:
    struct Task {
        Way way;
        int what;
        std::int64_t alone, contended, latency;
        std::set<TaskId> first;
        bool begun = false, done = false;
        std::int64_t moved_alone = 0, moved_contended = 0;

        /// Returns how much has been moved; alone * contended stands for all bytes. A nanosecond alone adds
        /// `contended`, and a nanosecond in which the other direction also moves bytes adds `alone`.
        unsigned __int128 moved() const;
        unsigned __int128 whole() const;
        bool moving() const { return begun && !done && latency == 0; }
    };

    TaskId add(Task task);
    Task* front(Way way);
    bool contended(Way way);
    std::int64_t until_next_change();
    void pass(std::int64_t time);
    void begin_and_end();

    std::int64_t clock_ = 0;
    std::vector<Task> tasks_;
    /// For each way, the queue of its tasks. The first task of a queue has begun or begins next.
    std::array<std::deque<TaskId>, 3> waiting_;
    std::array<std::int64_t, 3> busy_{};
};

}  // namespace rematlas
