#include "tests/runtime/transfers/adversarial_copies.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace rematlas::test {

constexpr CopyQueue kBeside[] = {CopyQueue::in, CopyQueue::out, CopyQueue::host};

void AdversarialCopies::copy_out(void* host, const void* device, std::size_t bytes) {
    copy(CopyQueue::out, host, device, bytes);
}
void AdversarialCopies::copy_in(void* device, const void* host, std::size_t bytes) {
    copy(CopyQueue::in, device, host, bytes);
}
void AdversarialCopies::copy(CopyQueue queue, void* to, const void* from, std::size_t bytes) {
    touch(queue, from, bytes, false);
    touch(queue, to, bytes, true);
    add(queue, {to, from, bytes, next_after_[index(queue)]});
}

void AdversarialCopies::run(std::function<void()> work) {
    for (const Access& access : std::exchange(of_next_run, {}))
        touch(CopyQueue::host, access.data, access.bytes, access.write);
    add(CopyQueue::host, {nullptr, nullptr, 0, next_after_[index(CopyQueue::host)], std::move(work)});
}

void AdversarialCopies::add(CopyQueue queue, Job job) {
    jobs_[index(queue)].push_back(std::move(job));
    ++given_[index(queue)];
    if (haste_ == Haste::at_once) run_until(queue, given_[index(queue)]);
    run_some();
}

Mark AdversarialCopies::mark(CopyQueue queue) {
    run_some();
    if (free_.empty()) {
        free_.push_back(static_cast<Mark>(marks_.size()));
        marks_.emplace_back();
    }
    const Mark mark = free_.back();
    free_.pop_back();
    Moment& moment = marks_[static_cast<std::size_t>(mark)];
    moment = {clocks_[index(queue)], {}};
    moment.work[index(queue)] = given_[index(queue)];
    return mark;
}

void AdversarialCopies::wait(CopyQueue queue, Mark mark) {
    run_some();
    if (waits_++ == drop_wait) return;
    const Moment& moment = marks_[static_cast<std::size_t>(mark)];
    for (std::size_t i = 0; i < copy_queue_count; ++i) {
        clocks_[index(queue)][i] = std::max(clocks_[index(queue)][i], moment.clock[i]);
        long& after = next_after_[index(queue)][i];
        after = std::max(after, moment.work[i]);
        if (queue == CopyQueue::compute) run_until(static_cast<CopyQueue>(i), moment.work[i]);
    }
}

void AdversarialCopies::release(Mark mark) {
    free_.push_back(mark);
}

void AdversarialCopies::synchronize(CopyQueue queue) {
    run_until(queue, given_[index(queue)]);
    for (std::size_t i = 0; i < copy_queue_count; ++i)
        clocks_[0][i] = std::max(clocks_[0][i], clocks_[index(queue)][i]);
}

/// Runs the queue's jobs up to number `work`, and before each job all jobs that it waits for.
void AdversarialCopies::run_until(CopyQueue queue, long work) {
    while (queue != CopyQueue::compute && done_[index(queue)] < work) {
        const Job job = jobs_[index(queue)].front();
        for (CopyQueue other : kBeside)
            if (other != queue) run_until(other, job.after[index(other)]);
        job.work ? job.work() : (void)std::memcpy(job.to, job.from, job.bytes);
        jobs_[index(queue)].pop_front();
        ++done_[index(queue)];
    }
}

void AdversarialCopies::run_some() {
    if (haste_ != Haste::at_random) return;
    while (random_() % 2) {
        const CopyQueue queue = kBeside[random_() % 3];
        if (!jobs_[index(queue)].empty()) run_until(queue, done_[index(queue)] + 1);
    }
}

void AdversarialCopies::touch(CopyQueue queue, const void* data, std::size_t bytes, bool write) {
    Clock& clock = clocks_[index(queue)];
    const long tick = ++clock[index(queue)];
    if (!watch_) return;
    for (const char* byte = static_cast<const char*>(data); byte < static_cast<const char*>(data) + bytes;
         ++byte) {
        Touched& touched = touched_[byte];
        if (touched.writer > clock[index(touched.queue)])
            report(write ? "writes what is being written" : "reads what is being written", queue,
                   touched.queue);
        for (CopyQueue other : {CopyQueue::compute, CopyQueue::in, CopyQueue::out, CopyQueue::host})
            if (write && touched.readers[index(other)] > clock[index(other)])
                report("writes what is being read", queue, other);
        if (write)
            touched = {queue, tick, {}};
        else
            touched.readers[index(queue)] = tick;
    }
}

void AdversarialCopies::report(const char* what, CopyQueue queue, CopyQueue other) {
    static constexpr const char* names[] = {"compute", "in", "out", "host"};
    if (races_++ == 0)
        first_race_ = std::string(names[index(queue)]) + " " + what + " by " + names[index(other)];
}

}  // namespace rematlas::test
