// Queues of copies and of host work that run as early, as late or as randomly as their waits allow. Vector
// clocks for each byte find accesses that no wait orders, whatever the order in which the work really ran.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "runtime/transfers/copy_queues.h"

namespace rematlas::test {

/// When copies run: when they are submitted, when something waits for them, or at a random moment in between.
enum class Haste { at_once, when_waited_for, at_random };

class AdversarialCopies final : public CopyQueues {
  public:
    /// `watch`: whether to look for races, which takes time for each byte.
    explicit AdversarialCopies(Haste haste, std::uint64_t seed = 1, bool watch = true)
        : haste_(haste), random_(seed), watch_(watch) {}

    void copy_out(void* host, const void* device, std::size_t bytes) override;
    void copy_in(void* device, const void* host, std::size_t bytes) override;
    void run(std::function<void()> work) override;
    Mark mark(CopyQueue queue) override;
    void wait(CopyQueue queue, Mark mark) override;
    void release(Mark mark) override;
    void synchronize(CopyQueue queue) override;

    /// An access to memory by the op that the next call of `run` submits. Fill `of_next_run` before that
    /// call.
    struct Access {
        const void* data;
        std::size_t bytes;
        bool write;
    };
    std::vector<Access> of_next_run;

    /// Must be called when the compute queue accesses memory.
    void reads(const void* data, std::size_t bytes) { touch(CopyQueue::compute, data, bytes, false); }
    void writes(void* data, std::size_t bytes) { touch(CopyQueue::compute, data, bytes, true); }

    int races() const { return races_; }
    const std::string& first_race() const { return first_race_; }
    int waits() const { return waits_; }                                         ///< number of waits so far
    int held() const { return static_cast<int>(marks_.size() - free_.size()); }  ///< number of marks in use
    int drop_wait = -1;  ///< index of the wait that does nothing; -1 if every wait works

  private:
    using Clock = std::array<long, copy_queue_count>;  ///< per queue: the number of its jobs that are known
                                                       ///< to be done
    struct Moment {
        Clock clock;
        Clock work;  ///< per queue: how many of its jobs must run before a queue that waits for this
                     ///< moment goes on
    };
    struct Job {
        void* to;
        const void* from;
        std::size_t bytes;
        Clock after;
        std::function<void()> work = {};  ///< the work of an op; if set, nothing is copied
    };
    struct Touched {
        CopyQueue queue = CopyQueue::compute;
        long writer = 0;  ///< tick of the last write; 0 if there was none
        Clock readers{};  ///< per queue: tick of its last read
    };

    static std::size_t index(CopyQueue queue) { return static_cast<std::size_t>(queue); }
    void copy(CopyQueue queue, void* to, const void* from, std::size_t bytes);
    void add(CopyQueue queue, Job job);
    void run_until(CopyQueue queue, long work);
    void run_some();
    void touch(CopyQueue queue, const void* data, std::size_t bytes, bool write);
    void report(const char* what, CopyQueue queue, CopyQueue other);

    Haste haste_;
    std::mt19937_64 random_;
    bool watch_;
    std::array<Clock, copy_queue_count> clocks_{};
    std::array<std::deque<Job>, copy_queue_count> jobs_;
    Clock given_{}, done_{};
    std::array<Clock, copy_queue_count> next_after_{};  ///< per queue: how many jobs of each queue must run
                                                        ///< before the next job of this queue
    std::vector<Moment> marks_;
    std::vector<Mark> free_;
    std::map<const char*, Touched> touched_;
    int races_ = 0, waits_ = 0;
    std::string first_race_;
};

}  // namespace rematlas::test
