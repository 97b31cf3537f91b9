#include "core/milp/milp_thread.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace rematlas {

MilpThread::MilpThread(MilpLibrary library, std::shared_ptr<const MilpModel> model, MilpLimits limits,
                       std::vector<double> start) {
    limits.stop = stop_.get_token();
    limits.progress = [shared = shared_](const MilpNews& now) {
        std::lock_guard lock(shared->mutex);
        if (!now.values.empty()) shared->news.incumbents.emplace_back(now.values.begin(), now.values.end());
        shared->news.bound = std::max(shared->news.bound, now.bound);
        shared->news.nodes = std::max(shared->news.nodes, now.nodes);
        shared->changed.notify_one();
    };
    std::thread([library, model = std::move(model), limits, start = std::move(start),
                 shared = shared_]() mutable {
        limits.start = start;
        Result<MilpAnswer> answer = solve_milp(library, *model, limits);
        std::lock_guard lock(shared->mutex);
        if (answer) shared->news.nodes = std::max(shared->news.nodes, answer->nodes);
        shared->news.answer = std::move(answer);
        shared->changed.notify_one();
    }).detach();
}

MilpThread::News MilpThread::news(std::chrono::nanoseconds at_most) {
    std::unique_lock lock(shared_->mutex);
    if (!shared_->news.answer) shared_->changed.wait_for(lock, at_most);
    News news = shared_->news;
    shared_->news.incumbents.clear();
    return news;
}

}  // namespace rematlas
