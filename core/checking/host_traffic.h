// The checker's own clock for compute, for the copies on the two links, for the ops on the host and for the
// collectives. It follows "Beside compute" in docs/concepts/schedules.md and shares no code with the
// simulator's queues.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace rematlas {

enum class Way { out, in, host, collective };

class HostTraffic {
  public:
    using TaskId = std::size_t;

    std::int64_t clock() const { return clock_; }

    /// Advances the clock by `time`. Copies, ops on the host and collectives go on during that time.
    void compute(std::int64_t time);
    void await(TaskId task);

    /// Adds a copy at the end of the queue of its direction. The copy begins when all copies before it in the
    /// queue and all tasks of `first` are done. After `latency` nanoseconds the bytes move: in `alone`
    /// nanoseconds if no bytes move in the other direction, in `contended` nanoseconds if some do.
    TaskId copy(Way way, int tensor, std::int64_t alone, std::int64_t contended, std::int64_t latency,
                std::set<TaskId> first);
    TaskId run_on_host(int op, std::int64_t time, std::set<TaskId> first);
    /// Adds a collective at the end of the queue with that name.
    TaskId run_collective(const std::string& queue, int op, std::int64_t time);

    /// The tasks that are not done: (queue, tensor or op, latency left, share already moved).
    using UnderWay = std::vector<std::tuple<Way, int, std::int64_t, unsigned __int128>>;
    UnderWay under_way() const;

    /// Identifies a queue: its way and, for collectives, its name. Other ways have one queue with an empty
    /// name.
    using Line = std::pair<Way, std::string>;
    /// Nanoseconds in which a queue was not idle.
    using Busy = std::map<Line, std::int64_t>;
    const Busy& busy() const { return busy_; }

  private:
    struct Task {
        Way way;
        int what;
        std::int64_t alone, contended, latency;
        std::set<TaskId> first;
        std::string queue = {};
        bool begun = false, done = false;
        std::int64_t moved_alone = 0, moved_contended = 0;

        /// Returns how much has been moved, in a unit in which the whole copy is alone * contended. A
        /// nanosecond in which the other direction is idle adds `contended`, and any other nanosecond adds
        /// `alone`.
        unsigned __int128 moved() const;
        unsigned __int128 whole() const;
        bool moving() const { return begun && !done && latency == 0; }
    };

    TaskId add(Task task);
    Task* front(const Line& line);
    bool contended(Way way);
    std::int64_t until_next_change();
    void pass(std::int64_t time);
    void begin_and_end();

    std::int64_t clock_ = 0;
    std::vector<Task> tasks_;
    /// For each queue, its tasks that are not done. The first of them has begun or begins next.
    std::map<Line, std::deque<TaskId>> waiting_;
    Busy busy_;
};

}  // namespace rematlas
