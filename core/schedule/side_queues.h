// Simulates work that runs at the same time as the device's compute: copies, ops on the host and collectives.
// There is one queue for copies to the host, one for copies to the device, one for ops on the host, and one
// for the collectives of each group of ranks.
//
//     SideQueues queues;
//     int out = queues.add({.queue = SideQueue::to_host, .alone = 100, .contended = 250});   // begins at 0
//     queues.move_to(40);              // compute went on
//     int back = queues.add({.queue = SideQueue::to_device, .alone = 100, .contended = 200});
//     queues.wait_for(out);            // the time is now 190: 150 ns for the 60 % that were left
//
// docs/concepts/schedules.md explains when work begins and how long it takes. Cost: constant each time work
// is added, begins or ends.
#pragma once

#include <cstdint>
#include <vector>

namespace rematlas {

enum class SideQueue : std::uint8_t { to_host, to_device, host, collective };

/// A copy, an op that runs on the host, or a collective. Times are in nanoseconds.
struct SideWork {
    SideQueue queue = SideQueue::to_host;
    std::int64_t alone = 0;       ///< duration; for a copy, while no bytes move in the other direction
    std::int64_t contended = 0;   ///< for a copy: duration while bytes move in the other direction
    std::int64_t latency = 0;     ///< for a copy: time before its bytes move
    std::vector<int> after = {};  ///< numbers of the work that must be done first; -1 is ignored
    int label = -1;               ///< id of the tensor or op
    int group = 0;                ///< for a collective: the number of its queue in Queues::names
};

class SideQueues {
  public:
    /// `groups`: how many queues collectives have.
    explicit SideQueues(std::size_t groups = 0) : lines_(kFixed + groups), done_(kFixed + groups) {}

    std::int64_t now() const { return now_; }
    void move_to(std::int64_t time);

    /// Adds the work to the end of its queue. Returns its number; numbers count from 0.
    int add(SideWork work);

    /// Moves the clock until the work is done. Does nothing for -1.
    void wait_for(int work);

    bool done(int work) const { return work < 0 || end_[static_cast<std::size_t>(work)] >= 0; }
    /// Returns the time at which the work began; -1 if it has not begun.
    std::int64_t begin(int work) const { return begin_[static_cast<std::size_t>(work)]; }
    std::int64_t end(int work) const { return end_[static_cast<std::size_t>(work)]; }

    /// Work that is not done, with its remaining latency and its remaining units of work. `pending` lists one
    /// queue after the other.
    struct Pending {
        SideQueue queue;
        int label;
        std::int64_t latency;
        unsigned __int128 left;
        bool operator==(const Pending&) const = default;
    };
    std::vector<Pending> pending() const;

  private:
    struct Line {
        std::vector<int> works;
        std::size_t head = 0;
        std::int64_t latency = 0;    ///< remaining latency of the first item
        unsigned __int128 left = 0;  ///< remaining units of the first item, which has alone * contended units
        bool begun = false;
    };

    static constexpr std::size_t kFixed = 3;  ///< queues of copies and of ops on the host

    static std::size_t line_of(const SideWork& work);
    bool moves(const Line& line) const { return line.begun && line.latency == 0; }
    std::int64_t speed(std::size_t line) const;
    std::int64_t next_event() const;
    void progress(std::int64_t time);
    void settle();

    std::int64_t now_ = 0;
    std::vector<SideWork> works_;
    std::vector<std::int64_t> begin_, end_;
    std::vector<Line> lines_;              ///< by SideQueue; then one for each queue of collectives
    std::vector<unsigned __int128> done_;  ///< used within `progress` only
};

}  // namespace rematlas
