#include "core/checking/host_traffic.h"

#include <algorithm>

namespace rematlas {

unsigned __int128 HostTraffic::Task::moved() const {
    using Share = unsigned __int128;
    return Share(moved_alone) * Share(contended) + Share(moved_contended) * Share(alone);
}

unsigned __int128 HostTraffic::Task::whole() const {
    return static_cast<unsigned __int128>(alone) * static_cast<unsigned __int128>(contended);
}

HostTraffic::TaskId HostTraffic::copy(Way way, int tensor, std::int64_t alone, std::int64_t contended,
                                      std::int64_t latency, std::set<TaskId> first) {
    return add({way, tensor, alone, contended, latency, std::move(first)});
}

/// Nothing slows an op on the host down, so it takes the same time alone and contended.
HostTraffic::TaskId HostTraffic::run_on_host(int op, std::int64_t time, std::set<TaskId> first) {
    return add({Way::host, op, time, time, 0, std::move(first)});
}

HostTraffic::TaskId HostTraffic::run_collective(const std::string& queue, int op, std::int64_t time) {
    return add({Way::collective, op, time, time, 0, {}, queue});
}

HostTraffic::TaskId HostTraffic::add(Task task) {
    const TaskId id = tasks_.size();
    waiting_[{task.way, task.queue}].push_back(id);
    tasks_.push_back(std::move(task));
    begin_and_end();
    return id;
}

void HostTraffic::compute(std::int64_t time) {
    while (time > 0) {
        const std::int64_t change = until_next_change();
        const std::int64_t now = change < 0 ? time : std::min(time, change);
        pass(now);
        time -= now;
    }
}

void HostTraffic::await(TaskId task) {
    while (!tasks_[task].done) pass(until_next_change());
}

HostTraffic::Task* HostTraffic::front(const Line& line) {
    const auto found = waiting_.find(line);
    return found == waiting_.end() || found->second.empty() ? nullptr : &tasks_[found->second.front()];
}

/// Says whether bytes are moving in the direction opposite to `way`.
bool HostTraffic::contended(Way way) {
    if (way != Way::out && way != Way::in) return false;
    const Task* other = front({way == Way::out ? Way::in : Way::out, {}});
    return other && other->moving();
}

/// Returns the nanoseconds until a running task or its latency ends; -1 if no task is running.
std::int64_t HostTraffic::until_next_change() {
    std::int64_t next = -1;
    for (const auto& [line, waiting] : waiting_) {
        const Task* task = front(line);
        if (!task || !task->begun) continue;
        std::int64_t time = task->latency;
        if (time == 0) {
            const auto left = task->whole() - task->moved();
            const auto a_nanosecond =
                static_cast<unsigned __int128>(contended(line.first) ? task->alone : task->contended);
            time = static_cast<std::int64_t>(left / a_nanosecond);
            if (left % a_nanosecond != 0) ++time;
        }
        if (next < 0 || time < next) next = time;
    }
    return next;
}

void HostTraffic::pass(std::int64_t time) {
    std::set<Way> slowed;
    for (const Way way : {Way::out, Way::in})
        if (contended(way)) slowed.insert(way);
    for (const auto& [line, waiting] : waiting_) {
        Task* task = front(line);
        if (!task || !task->begun) continue;
        busy_[line] += time;
        if (task->latency > 0)
            task->latency -= time;
        else if (slowed.contains(line.first))
            task->moved_contended += time;
        else
            task->moved_alone += time;
    }
    clock_ += time;
    begin_and_end();
}

void HostTraffic::begin_and_end() {
    bool ended = true;
    while (ended) {
        ended = false;
        for (auto& [line, waiting] : waiting_) {
            Task* task = front(line);
            if (!task) continue;
            if (!task->begun) {
                const auto is_done = [&](TaskId id) { return tasks_[id].done; };
                task->begun = std::all_of(task->first.begin(), task->first.end(), is_done);
            }
            if (!task->moving() || task->moved() < task->whole()) continue;
            task->done = true;
            waiting.pop_front();
            ended = true;
        }
    }
}

HostTraffic::UnderWay HostTraffic::under_way() const {
    UnderWay list;
    for (const auto& [line, waiting] : waiting_) {
        for (TaskId id : waiting) {
            const Task& task = tasks_[id];
            list.emplace_back(task.way, task.what, task.latency, task.moved());
        }
    }
    return list;
}

}  // namespace rematlas
