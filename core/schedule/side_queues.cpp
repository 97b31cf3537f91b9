#include "core/schedule/side_queues.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace rematlas {
namespace {

using Wide = unsigned __int128;

constexpr std::int64_t kNoEvent = std::numeric_limits<std::int64_t>::max();

Wide work_of(const SideWork& work) {
    return static_cast<Wide>(work.alone) * static_cast<Wide>(work.contended);
}

}  // namespace

std::size_t SideQueues::line_of(const SideWork& work) {
    return static_cast<std::size_t>(work.queue) + static_cast<std::size_t>(work.group);
}

int SideQueues::add(SideWork work) {
    if (work.queue != SideQueue::to_host && work.queue != SideQueue::to_device) work.contended = 1;
    const int number = static_cast<int>(works_.size());
    lines_[line_of(work)].works.push_back(number);
    works_.push_back(std::move(work));
    begin_.push_back(-1);
    end_.push_back(-1);
    settle();
    return number;
}

void SideQueues::move_to(std::int64_t time) {
    while (now_ < time) {
        progress(std::min(time, next_event()) - now_);
        settle();
    }
}

void SideQueues::wait_for(int work) {
    while (!done(work)) {
        progress(next_event() - now_);
        settle();
    }
}

/// Returns how many units of its work the first item of the queue completes per nanosecond. A copy has alone
/// * contended units. While no bytes move in the other direction, it completes `contended` units per
/// nanosecond, so it takes `alone` nanoseconds.
std::int64_t SideQueues::speed(std::size_t line) const {
    if (line >= static_cast<std::size_t>(SideQueue::host)) return 1;
    const SideWork& head = works_[static_cast<std::size_t>(lines_[line].works[lines_[line].head])];
    return moves(lines_[1 - line]) ? head.alone : head.contended;
}

std::int64_t SideQueues::next_event() const {
    std::int64_t next = kNoEvent;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
        const Line& line = lines_[i];
        if (!line.begun) continue;
        if (line.latency > 0) {
            next = std::min(next, now_ + line.latency);
            continue;
        }
        const Wide each = static_cast<Wide>(speed(i));
        next = std::min(next, now_ + static_cast<std::int64_t>((line.left + each - 1) / each));
    }
    return next;
}

/// Moves the clock by a time in which no queue begins work, ends work or changes its speed.
void SideQueues::progress(std::int64_t time) {
    for (std::size_t i = 0; i < lines_.size(); ++i)
        done_[i] = moves(lines_[i]) ? static_cast<Wide>(speed(i)) * static_cast<Wide>(time) : 0;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
        Line& line = lines_[i];
        line.left -= std::min(line.left, done_[i]);
        if (line.begun && line.latency > 0) line.latency -= time;
    }
    now_ += time;
}

/// Ends all work that is done and begins all work that can begin, until nothing changes.
void SideQueues::settle() {
    for (bool changed = true; changed;) {
        changed = false;
        for (Line& line : lines_) {
            if (line.head == line.works.size()) continue;
            const auto number = static_cast<std::size_t>(line.works[line.head]);
            const SideWork& work = works_[number];
            if (!line.begun) {
                line.begun =
                    std::all_of(work.after.begin(), work.after.end(), [&](int w) { return done(w); });
                if (!line.begun) continue;
                begin_[number] = now_;
                line.latency = work.latency;
                line.left = work_of(work);
            }
            if (line.latency > 0 || line.left > 0) continue;
            end_[number] = now_;
            ++line.head;
            line.begun = false;
            changed = true;
        }
    }
}

std::vector<SideQueues::Pending> SideQueues::pending() const {
    std::vector<Pending> list;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
        const Line& line = lines_[i];
        for (std::size_t at = line.head; at < line.works.size(); ++at) {
            const SideWork& work = works_[static_cast<std::size_t>(line.works[at])];
            const bool now = at == line.head && line.begun;
            list.push_back(
                {work.queue, work.label, now ? line.latency : work.latency, now ? line.left : work_of(work)});
        }
    }
    return list;
}

}  // namespace rematlas
