// Work beside compute: copies on one link each way, and ops that run on the host, each kind in a queue of
// its own.
//
//     SideQueues queues;
//     int out = queues.add({.queue = SideQueue::to_host, .alone = 100, .contended = 250});   // now, at 0
//     queues.move_to(40);              // compute went on
//     int back = queues.add({.queue = SideQueue::to_device, .alone = 100, .contended = 200});
//     queues.wait_for(out);            // the time is now 190: 150 ns for the 60 % that were left
//
// core/schedule/README.md says when work begins and how long it takes. Cost: constant for each piece of work
// that is added, begins or ends.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace rematlas {

enum class SideQueue : std::uint8_t { to_host, to_device, host };

/// A copy, or an op that runs on the host. Times in nanoseconds.
struct SideWork {
    SideQueue queue = SideQueue::to_host;
    std::int64_t alone = 0;       ///< duration; of a copy: while no bytes move the other way
    std::int64_t contended = 0;   ///< of a copy: duration while bytes move the other way
    std::int64_t latency = 0;     ///< of a copy: time before its bytes move
    std::vector<int> after = {};  ///< numbers of the work that must be done first; -1: none
    int label = -1;               ///< the tensor or op
};

class SideQueues {
  public:
    std::int64_t now() const { return now_; }
    void move_to(std::int64_t time);

    /// Adds the work to the end of its queue and returns its number. Numbers count from 0.
    int add(SideWork work);

    /// Moves the clock until the work is done; does nothing for -1.
    void wait_for(int work);

    bool done(int work) const { return work < 0 || end_[static_cast<std::size_t>(work)] >= 0; }
    std::int64_t begin(int work) const { return begin_[static_cast<std::size_t>(work)]; }  ///< -1: not yet
    std::int64_t end(int work) const { return end_[static_cast<std::size_t>(work)]; }

    /// Work that is not done, queue by queue, with its remaining latency and its remaining amount.
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
        std::int64_t latency = 0;    ///< left of the head's latency
        unsigned __int128 left = 0;  ///< left of the head's work, of alone * contended in all
        bool begun = false;
    };

    bool moves(const Line& line) const { return line.begun && line.latency == 0; }
    std::int64_t speed(SideQueue queue) const;
    std::int64_t next_event() const;
    void progress(std::int64_t time);
    void settle();

    std::int64_t now_ = 0;
    std::vector<SideWork> works_;
    std::vector<std::int64_t> begin_, end_;
    std::array<Line, 3> lines_;  ///< by queue
};

}  // namespace rematlas
