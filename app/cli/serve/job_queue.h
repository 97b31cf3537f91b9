// Runs work on its own threads: as many jobs at once as the constructor allows; the rest waits in order.
//
//     JobQueue queue(std::thread::hardware_concurrency());
//     queue.add(7, [](std::stop_token stop) { solve(..., stop); });
//     queue.cancel(7);
//
// All functions may be called from any thread.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace rematlas {

class JobQueue {
  public:
    /// Must end soon after a stop is requested, and must not throw.
    using Work = std::function<void(std::stop_token)>;
    enum class Found { nowhere, waiting, running };

    explicit JobQueue(std::size_t most_at_once) : most_at_once_(std::max<std::size_t>(1, most_at_once)) {}
    /// Removes waiting work, asks running work to stop, and waits for it.
    ~JobQueue();
    JobQueue(const JobQueue&) = delete;
    JobQueue& operator=(const JobQueue&) = delete;

    /// No other work in the queue may have this `id`.
    void add(int id, Work work);
    /// Returns where the work was. Waiting work is removed; running work is asked to stop.
    Found cancel(int id);
    std::size_t count_waiting() const;

  private:
    void work_on();

    const std::size_t most_at_once_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::pair<int, Work>> waiting_;
    std::map<int, std::stop_source> running_;
    std::size_t idle_ = 0;  ///< threads that wait for work
    bool ending_ = false;
    std::vector<std::jthread> threads_;  ///< started when there is work for them
};

}  // namespace rematlas
