#include "core/milp/milp_thread.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <utility>

namespace rematlas {

namespace {

constexpr int kMostAbandoned = 2;

/// Counts the programs that are still being solved although their `MilpThread` was destroyed. This happens
/// because the libraries check neither stop tokens nor the time while they simplify a large program. The
/// threads of these programs run only when a processor is idle, and no further program begins while there are
/// two such threads. So abandoned programs cost little time and memory.
struct Abandoned {
    std::mutex mutex;
    std::condition_variable_any changed;
    int count = 0;
};
Abandoned& abandoned() {
    static auto* all = new Abandoned;  // never destroyed, because threads may outlive main
    return *all;
}

}  // namespace

/// The state of a thread, guarded by the mutex of `Abandoned`.
struct MilpThread::Life {
    pid_t thread = 0;
    bool ended = false, abandoned = false;
};

MilpThread::MilpThread(MilpLibrary library, std::shared_ptr<const MilpModel> model, MilpLimits limits,
                       std::vector<double> start)
    : life_(std::make_shared<Life>()) {
    limits.stop = stop_.get_token();
    limits.progress = [shared = shared_](const MilpNews& now) {
        std::lock_guard lock(shared->mutex);
        if (!now.values.empty()) shared->news.incumbents.emplace_back(now.values.begin(), now.values.end());
        shared->news.bound = std::max(shared->news.bound, now.bound);
        shared->news.nodes = std::max(shared->news.nodes, now.nodes);
        shared->changed.notify_one();
    };
    std::thread([library, model = std::move(model), limits, start = std::move(start), shared = shared_,
                 life = life_]() mutable {
        limits.start = start;
        {
            std::unique_lock lock(abandoned().mutex);
            const auto begin = [] { return abandoned().count < kMostAbandoned; };
            if (!abandoned().changed.wait(lock, limits.stop, begin) || limits.stop.stop_requested()) return;
            life->thread = ::gettid();
        }
        Result<MilpAnswer> answer = solve_milp(library, *model, limits);
        {
            std::lock_guard lock(abandoned().mutex);
            life->ended = true;
            if (life->abandoned) --abandoned().count;
            abandoned().changed.notify_all();
        }
        std::lock_guard lock(shared->mutex);
        if (answer) shared->news.nodes = std::max(shared->news.nodes, answer->nodes);
        shared->news.answer = std::move(answer);
        shared->changed.notify_one();
    }).detach();
}

MilpThread::~MilpThread() {
    stop_.request_stop();
    std::lock_guard lock(abandoned().mutex);
    if (life_->ended || life_->thread == 0) return;
    life_->abandoned = true;
    ++abandoned().count;
    const sched_param none{};
    ::sched_setscheduler(life_->thread, SCHED_IDLE, &none);
}

MilpThread::News MilpThread::news(std::chrono::nanoseconds at_most) {
    std::unique_lock lock(shared_->mutex);
    if (!shared_->news.answer) shared_->changed.wait_for(lock, at_most);
    News news = shared_->news;
    shared_->news.incumbents.clear();
    return news;
}

}  // namespace rematlas
