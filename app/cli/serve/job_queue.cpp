#include "app/cli/serve/job_queue.h"

namespace rematlas {

JobQueue::~JobQueue() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
        waiting_.clear();
        for (auto& [id, stop] : running_) stop.request_stop();
    }
    changed_.notify_all();
    threads_.clear();  // joins the threads
}

void JobQueue::add(int id, Work work) {
    const std::lock_guard lock(mutex_);
    waiting_.emplace_back(id, std::move(work));
    if (idle_ < waiting_.size() && threads_.size() < most_at_once_)
        threads_.emplace_back([this] { work_on(); });
    changed_.notify_one();
}

JobQueue::Found JobQueue::cancel(int id) {
    const std::lock_guard lock(mutex_);
    if (const auto running = running_.find(id); running != running_.end()) {
        running->second.request_stop();
        return Found::running;
    }
    const bool waited = std::erase_if(waiting_, [id](const auto& one) { return one.first == id; }) > 0;
    return waited ? Found::waiting : Found::nowhere;
}

std::size_t JobQueue::count_waiting() const {
    const std::lock_guard lock(mutex_);
    return waiting_.size();
}

void JobQueue::work_on() {
    std::unique_lock lock(mutex_);
    while (true) {
        ++idle_;
        changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
        --idle_;
        if (ending_) return;
        auto [id, work] = std::move(waiting_.front());
        waiting_.pop_front();
        const std::stop_token stop = running_[id].get_token();
        lock.unlock();
        work(stop);
        work = nullptr;
        lock.lock();
        running_.erase(id);
    }
}

}  // namespace rematlas
