#include "viz/layout/layout_programs.h"

#include <utility>

namespace rematlas {

namespace {

/// A program is replaced after this many answers, because Graphviz keeps memory and because the limit on
/// processor time is for the whole life of a program.
constexpr std::size_t kMostAnswers = 1000;

}  // namespace

LayoutPrograms::LayoutPrograms(std::size_t count, LayoutLimits limits)
    : count_(count),
      limits_(std::move(limits)),
      starter_([this](const std::stop_token& stop) { keep_up(stop); }) {}

LayoutPrograms::~LayoutPrograms() {
    starter_.request_stop();
    starter_.join();
}

std::unique_ptr<LayoutProcess> LayoutPrograms::take() {
    const std::lock_guard lock(mutex_);
    while (!waiting_.empty()) {
        std::unique_ptr<LayoutProcess> process = std::move(waiting_.back());
        waiting_.pop_back();
        if (!process->running()) continue;
        ++taken_;
        return process;
    }
    changed_.notify_one();  // perhaps some programs have ended by themselves and must be replaced
    return nullptr;
}

void LayoutPrograms::give_back(std::unique_ptr<LayoutProcess> process) {
    {
        const std::lock_guard lock(mutex_);
        --taken_;
        if (process && process->answered < kMostAnswers) waiting_.push_back(std::move(process));
    }
    changed_.notify_one();
}

std::size_t LayoutPrograms::waiting() const {
    const std::lock_guard lock(mutex_);
    return waiting_.size();
}

/// Starts programs until `count_` of them exist, and replaces each program that is lost.
void LayoutPrograms::keep_up(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return waiting_.size() + taken_ < count_; })) {
        lock.unlock();
        auto started = LayoutProcess::start(limits_);
        lock.lock();
        // If no program can be started, this thread stops trying: each layout starts its own program and
        // reports the error.
        if (!started) return void(changed_.wait(lock, stop, [] { return false; }));
        waiting_.push_back(started.take());
    }
    // The thread lives until the object is destroyed, because the programs end with the thread.
}

}  // namespace rematlas
