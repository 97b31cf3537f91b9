// Runs jobs on threads of its own. At most `most_at_once` jobs run at the same time; the others wait in
// order.
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
    /// The work must end soon after a stop is requested, and must not throw.
    using Work = std::function<void(std::stop_token)>;
    enum class Found { nowhere, waiting, running };

    explicit JobQueue(std::size_t most_at_once) : most_at_once_(std::max<std::size_t>(1, most_at_once)) {}
    /// Removes waiting work, asks running work to stop, and waits until the running work has ended.
    ~JobQueue();
    JobQueue(const JobQueue&) = delete;
    JobQueue& operator=(const JobQueue&) = delete;

    /// Adds work under an `id` that no other work in the queue has.
    void add(int id, Work work);
    /// Cancels work: removes it if it waits, and asks it to stop if it runs. Returns where the work was
    /// found.
    Found cancel(int id);
    std::size_t count_waiting() const;

  private:
    void work_on();

    const std::size_t most_at_once_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::pair<int, Work>> waiting_;
    std::map<int, std::stop_source> running_;
    std::size_t idle_ = 0;  ///< number of threads that wait for work
    bool ending_ = false;
    std::vector<std::jthread> threads_;  ///< started when there is work for them
};

}  // namespace rematlas
