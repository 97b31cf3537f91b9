// Links, and a host, that do their work as late, as early or as mixed up as what they were told allows; and vector clocks
// over bytes, which find what nothing orders, however it happened to run.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "runtime/transfers/copy_queues.h"

namespace rematlas::test {

/// When copies are done: when they are given, when somebody waits for them, or at any moment between.
enum class Haste { at_once, when_waited_for, at_random };

class AdversarialCopies final : public CopyQueues {
  public:
    /// `watch`: look for races, which takes time for each byte.
    explicit AdversarialCopies(Haste haste, std::uint64_t seed = 1, bool watch = true)
        : haste_(haste), random_(seed), watch_(watch) {}

    void copy_out(void* host, const void* device, std::size_t bytes) override;
    void copy_in(void* device, const void* host, std::size_t bytes) override;
    void run(std::function<void()> work) override;
    Mark mark(CopyQueue queue) override;
    void wait(CopyQueue queue, Mark mark) override;
    void release(Mark mark) override;
    void synchronize(CopyQueue queue) override;

    /// What the next op of the host touches.
    struct Access {
        const void* data;
        std::size_t bytes;
        bool write;
    };
    std::vector<Access> of_next_run;

    /// Compute touches memory, now.
    void reads(const void* data, std::size_t bytes) { touch(CopyQueue::compute, data, bytes, false); }
    void writes(void* data, std::size_t bytes) { touch(CopyQueue::compute, data, bytes, true); }

    int races() const { return races_; }
    const std::string& first_race() const { return first_race_; }
    int waits() const { return waits_; }                                         ///< so far
    int held() const { return static_cast<int>(marks_.size() - free_.size()); }  ///< marks not released
    int drop_wait = -1;  ///< this wait, counted from 0, does nothing

  private:
    using Clock = std::array<long, copy_queue_count>;  ///< by queue: how much of its work is done before
    struct Moment {
        Clock clock;
        Clock work;  ///< by queue: how much of it must really be done
    };
    struct Job {
        void* to;
        const void* from;
        std::size_t bytes;
        Clock after;
        std::function<void()> work = {};  ///< of an op; then nothing is copied
    };
    struct Touched {
        CopyQueue queue = CopyQueue::compute;
        long writer = 0;  ///< its tick; 0: nobody
        Clock readers{};  ///< by queue, their last ticks
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
    std::array<Clock, copy_queue_count> next_after_{};  ///< by queue: what its next work begins after
    std::vector<Moment> marks_;
    std::vector<Mark> free_;
    std::map<const char*, Touched> touched_;
    int races_ = 0, waits_ = 0;
    std::string first_race_;
};

}  // namespace rematlas::test
