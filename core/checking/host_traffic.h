// The checker's own clock for compute, and beside it for the copies on the two links and the ops on the
// host. It follows "Beside compute" in docs/concepts/schedules.md and shares no code with the simulator's
// queues.
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

    /// Moves the clock by `time`. Copies and ops of the host go on meanwhile.
    void compute(std::int64_t time);
    void await(TaskId task);

    /// Adds a copy behind all others of its way. It begins once the copies before it and all of `first` are
    /// done.
    TaskId copy(Way way, int tensor, std::int64_t alone, std::int64_t contended, std::int64_t latency,
                std::set<TaskId> first);
    TaskId run_on_host(int op, std::int64_t time, std::set<TaskId> first);

    /// The tasks under way: the way, the tensor or op, the latency still to come, and the share that has
    /// been moved.
    using UnderWay = std::vector<std::tuple<Way, int, std::int64_t, unsigned __int128>>;
    UnderWay under_way() const;

    /// Time in which a way was not idle, so far.
    std::int64_t busy(Way way) const { return busy_[static_cast<std::size_t>(way)]; }

  private:
    struct Task {
        Way way;
        int what;
        std::int64_t alone, contended, latency;
        std::set<TaskId> first;
        bool begun = false, done = false;
        std::int64_t moved_alone = 0, moved_contended = 0;

        /// The share moved, out of alone * contended. A nanosecond alone adds `contended` to it, and a
        /// nanosecond beside the other way adds `alone`.
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
    std::array<std::deque<TaskId>, 3> waiting_;  ///< by way; the first of each is begun or begins next
    std::array<std::int64_t, 3> busy_{};
};

}  // namespace rematlas
