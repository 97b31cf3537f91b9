#include "tests/runtime/transfers/adversarial_copies.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace rematlas::test {

constexpr Lane kBeside[] = {Lane::in, Lane::out, Lane::host};

void AdversarialCopies::copy_out(void* host, const void* device, std::size_t bytes) {
    copy(Lane::out, host, device, bytes);
}
void AdversarialCopies::copy_in(void* device, const void* host, std::size_t bytes) {
    copy(Lane::in, device, host, bytes);
}
void AdversarialCopies::copy(Lane lane, void* to, const void* from, std::size_t bytes) {
    touch(lane, from, bytes, false);
    touch(lane, to, bytes, true);
    add(lane, {to, from, bytes, next_after_[index(lane)]});
}

void AdversarialCopies::run(std::function<void()> work) {
    for (const Access& access : std::exchange(of_next_run, {}))
        touch(Lane::host, access.data, access.bytes, access.write);
    add(Lane::host, {nullptr, nullptr, 0, next_after_[index(Lane::host)], std::move(work)});
}

void AdversarialCopies::add(Lane lane, Job job) {
    jobs_[index(lane)].push_back(std::move(job));
    ++given_[index(lane)];
    if (haste_ == Haste::at_once) run_until(lane, given_[index(lane)]);
    run_some();
}

Mark AdversarialCopies::record(Lane lane) {
    run_some();
    if (free_.empty()) {
        free_.push_back(static_cast<Mark>(marks_.size()));
        marks_.emplace_back();
    }
    const Mark mark = free_.back();
    free_.pop_back();
    Moment& moment = marks_[static_cast<std::size_t>(mark)];
    moment = {clocks_[index(lane)], {}};
    moment.work[index(lane)] = given_[index(lane)];
    return mark;
}

void AdversarialCopies::wait(Lane lane, Mark mark) {
    run_some();
    if (waits_++ == drop_wait) return;
    const Moment& moment = marks_[static_cast<std::size_t>(mark)];
    for (std::size_t i = 0; i < lane_count; ++i) {
        clocks_[index(lane)][i] = std::max(clocks_[index(lane)][i], moment.clock[i]);
        long& after = next_after_[index(lane)][i];
        after = std::max(after, moment.work[i]);
        if (lane == Lane::compute) run_until(static_cast<Lane>(i), moment.work[i]);
    }
}

void AdversarialCopies::release(Mark mark) {
    free_.push_back(mark);
}

void AdversarialCopies::synchronize(Lane lane) {
    run_until(lane, given_[index(lane)]);
    for (std::size_t i = 0; i < lane_count; ++i)
        clocks_[0][i] = std::max(clocks_[0][i], clocks_[index(lane)][i]);
}

/// Does what this work waits for first.
void AdversarialCopies::run_until(Lane lane, long work) {
    while (lane != Lane::compute && done_[index(lane)] < work) {
        const Job job = jobs_[index(lane)].front();
        for (Lane other : kBeside)
            if (other != lane) run_until(other, job.after[index(other)]);
        job.work ? job.work() : (void)std::memcpy(job.to, job.from, job.bytes);
        jobs_[index(lane)].pop_front();
        ++done_[index(lane)];
    }
}

void AdversarialCopies::run_some() {
    if (haste_ != Haste::at_random) return;
    while (random_() % 2) {
        const Lane lane = kBeside[random_() % 3];
        if (!jobs_[index(lane)].empty()) run_until(lane, done_[index(lane)] + 1);
    }
}

void AdversarialCopies::touch(Lane lane, const void* data, std::size_t bytes, bool write) {
    Clock& clock = clocks_[index(lane)];
    const long tick = ++clock[index(lane)];
    if (!watch_) return;
    for (const char* byte = static_cast<const char*>(data); byte < static_cast<const char*>(data) + bytes;
         ++byte) {
        Touched& touched = touched_[byte];
        if (touched.writer > clock[index(touched.lane)])
            report(write ? "writes what is being written" : "reads what is being written", lane,
                   touched.lane);
        for (Lane other : {Lane::compute, Lane::in, Lane::out, Lane::host})
            if (write && touched.readers[index(other)] > clock[index(other)])
                report("writes what is being read", lane, other);
        if (write)
            touched = {lane, tick, {}};
        else
            touched.readers[index(lane)] = tick;
    }
}

void AdversarialCopies::report(const char* what, Lane lane, Lane other) {
    static constexpr const char* names[] = {"compute", "in", "out", "host"};
    if (races_++ == 0)
        first_race_ = std::string(names[index(lane)]) + " " + what + " by " + names[index(other)];
}

}  // namespace rematlas::test
