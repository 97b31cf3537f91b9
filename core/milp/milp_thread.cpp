#include "core/milp/milp_thread.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

namespace rematlas {

namespace {

constexpr int kMostAbandoned = 2;
constexpr auto kLongestWait = std::chrono::milliseconds(100);  // of a process that exits

/// Counts the programs that are being solved. A program is abandoned if its `MilpThread` was destroyed. Its
/// thread may still run for long, because the libraries check neither stop tokens nor the time while they
/// simplify a large program. Such a thread runs only when a processor is idle, and no further program begins
/// while there are two. So abandoned programs cost little time and memory.
struct Programs {
    std::mutex mutex;
    std::condition_variable_any changed;
    int running = 0;
    int abandoned = 0;  ///< those of the running programs that are abandoned
};
Programs& programs() {
    static auto* all = new Programs;  // never destroyed, because threads may outlive main
    return *all;
}

/// Runs when the process `registered` exits, before the static objects of the libraries are destroyed. A
/// thread that is still in a library would read these objects afterwards. So the process ends at once if such
/// a thread does not end soon.
void end_before_libraries(int status, void* registered) {
    if (::getpid() != static_cast<pid_t>(reinterpret_cast<std::intptr_t>(registered))) return;  // a fork
    std::unique_lock lock(programs().mutex);
    if (programs().changed.wait_for(lock, kLongestWait, [] { return programs().running == 0; })) return;
    std::fflush(nullptr);
    ::_exit(status);
}

/// Makes the process call `end_before_libraries` when it exits.
void register_end() {
    const auto process = reinterpret_cast<void*>(static_cast<std::intptr_t>(::getpid()));
    [[maybe_unused]] static const int registered = ::on_exit(end_before_libraries, process);
}

}  // namespace

/// The state of a thread, guarded by the mutex of `Programs`.
struct MilpThread::Life {
    pid_t thread = 0;
    bool ended = false, abandoned = false;
};

MilpThread::MilpThread(MilpLibrary library, std::shared_ptr<const MilpModel> model, MilpLimits limits,
                       std::vector<double> start)
    : life_(std::make_shared<Life>()) {
    register_end();
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
            std::unique_lock lock(programs().mutex);
            const auto begin = [] { return programs().abandoned < kMostAbandoned; };
            if (!programs().changed.wait(lock, limits.stop, begin) || limits.stop.stop_requested()) return;
            life->thread = ::gettid();
            ++programs().running;
        }
        Result<MilpAnswer> answer = solve_milp(library, *model, limits);
        {
            std::lock_guard lock(programs().mutex);
            life->ended = true;
            --programs().running;
            if (life->abandoned) --programs().abandoned;
            programs().changed.notify_all();
        }
        std::lock_guard lock(shared->mutex);
        if (answer) shared->news.nodes = std::max(shared->news.nodes, answer->nodes);
        shared->news.answer = std::move(answer);
        shared->changed.notify_one();
    }).detach();
}

MilpThread::~MilpThread() {
    stop_.request_stop();
    std::lock_guard lock(programs().mutex);
    if (life_->ended || life_->thread == 0) return;
    life_->abandoned = true;
    ++programs().abandoned;
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
