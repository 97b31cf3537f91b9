#include "core/solvers/annealing/planned_copies.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rematlas::annealing {

namespace {

constexpr std::int64_t kFarOff = std::numeric_limits<std::int64_t>::max() / 4;

std::int64_t copy_time(std::int64_t bytes, double speed, std::int64_t latency) {
    const double time = speed > 0 ? static_cast<double>(bytes) / speed * 1e9 : static_cast<double>(kFarOff);
    return time < static_cast<double>(kFarOff) / 1e3 ? std::llround(time) + latency : kFarOff / 1000;
}

}  // namespace

PlannedCopies::PlannedCopies(const CopyGraph& graph, RunProfile& profile, const Links& links, bool contended)
    : graph_(graph), profile_(profile), latency_(links.copy_latency.value) {
    const auto beside = [](double alone, double contended) { return contended > 0 ? contended : alone; };
    const double out = contended
                           ? beside(links.to_host_bytes_per_second, links.to_host_contended_bytes_per_second)
                           : links.to_host_bytes_per_second;
    const double back = links.to_device_bytes_per_second;
    for (const std::int64_t bytes : graph.flat.bytes) {
        out_time_.push_back(copy_time(bytes, out, latency_));
        back_time_.push_back(copy_time(bytes, back, latency_));
    }
    slower_beside_ = back / beside(back, links.to_device_contended_bytes_per_second);
}

void PlannedCopies::settle() {
    read_clock();
    collect();
    plan_out();
    plan_back();
    plan_homes();
    move_gaps();
    time_ = std::max({profile_.time(), out_.empty() ? 0 : out_.back().end, host_end_}) + late_;
}

void PlannedCopies::read_clock() {
    profile_.list_runs(runs_);
    runs_.push_back(RunProfile::kEnd);
    const auto most = static_cast<std::size_t>(*std::max_element(runs_.begin(), runs_.end())) + 1;
    if (clock_.size() < most) {
        clock_.resize(most, 0);
        place_.resize(most, 0);
    }
    starts_.resize(runs_.size());
    std::int64_t now = 0;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
        const Node run = runs_[i];
        clock_[run] = starts_[i] = now;
        place_[run] = static_cast<std::int64_t>(i);
        if (run != RunProfile::kEnd) now += graph_.flat.time[profile_.op(run)];
    }
}

// Makes the lists `leaving_` and `coming_`. They order the gaps by place, so that no sorting is necessary.
void PlannedCopies::collect() {
    const auto aways = profile_.aways();
    gone_.assign(aways.size(), kFarOff);
    returns_.assign(aways.size(), -1);
    leaving_.clear(runs_.size(), aways.size());
    coming_.clear(runs_.size(), aways.size());
    for (std::size_t id = 0; id < aways.size(); ++id) {
        const RunProfile::Away& away = aways[id];
        if (away.tensor < 0) continue;
        const int t = away.tensor;
        const std::int64_t use = place_[away.use];
        const auto events = profile_.events(t);
        const std::int64_t last = place_[events[profile_.index_of(t, away.use) - 1]];
        bool is_first = !graph_.starts_on_host[t];
        for (const RunProfile::AwayId other : profile_.aways_of(t))
            is_first = is_first && place_[aways[other].use] >= use;
        if (is_first)
            leaving_.add(static_cast<std::size_t>(last), static_cast<RunProfile::AwayId>(id), aways);
        else
            gone_[id] = last + 1;
        if (away.use == RunProfile::kEnd && graph_.ends_on_host[t])
            returns_[id] = kFarOff;
        else
            coming_.add(static_cast<std::size_t>(use), static_cast<RunProfile::AwayId>(id), aways);
    }
}

void PlannedCopies::plan_out() {
    out_.clear();
    copied_ = host_end_ = 0;
    std::int64_t free = 0;
    std::size_t at = 0;
    for (std::size_t event = 0; event + 1 < runs_.size(); ++event) {
        for (RunProfile::AwayId id = leaving_.first[event]; id >= 0; id = leaving_.next[id]) {
            const std::int64_t time = out_time_[profile_.aways()[id].tensor];
            const std::int64_t start = std::max(free, starts_[event + 1]);
            free = start + time;
            copied_ += time;
            out_.push_back({id, start, free});
            if (graph_.is_read_there(profile_.aways()[id].tensor))
                run_there(graph_.starts_run[profile_.aways()[id].tensor], free);
            at = std::max(at, event + 1);
            while (at < starts_.size() && starts_[at] < free) ++at;
            if (at < starts_.size()) gone_[id] = static_cast<std::int64_t>(at);
            // Later gaps of the tensor need this copy, too.
            for (const RunProfile::AwayId later : profile_.aways_of(profile_.aways()[id].tensor))
                if (later != id) gone_[later] = std::max(gone_[later], gone_[id]);
        }
    }
}

void PlannedCopies::run_there(std::int32_t run, std::int64_t copied) {
    if (run >= 0)
        host_end_ = std::max(host_end_, copied) + graph_.host.runs[static_cast<std::size_t>(run)].time;
}

// Returns the start of a copy back that ends at `end`. The copy takes `time` if nothing is copied out
// meanwhile, and is slower during copies out. `outs`: the number of copies out to look at; later copies out
// begin after `end`. A call can lower this number for the next call, whose copy back ends earlier.
std::int64_t PlannedCopies::back_start(std::int64_t end, std::int64_t time, std::size_t& outs) const {
    if (slower_beside_ <= 1 || time <= latency_) return end - time;
    double left = static_cast<double>(time - latency_), at = static_cast<double>(end);
    while (outs > 0 && left > 0) {
        const auto from = static_cast<double>(out_[outs - 1].start),
                   to = static_cast<double>(out_[outs - 1].end);
        if (const double alone = std::min(at - to, left); alone > 0) {
            left -= alone;
            at -= alone;
        }
        if (const double beside = std::min(at - from, left * slower_beside_); beside > 0 && left > 0) {
            left -= beside / slower_beside_;
            at -= beside;
        }
        if (left > 0) --outs;
    }
    return std::llround(at - std::max(left, 0.0)) - latency_;
}

void PlannedCopies::plan_back() {
    back_.clear();
    late_ = 0;
    std::int64_t next = kFarOff;
    std::size_t outs = out_.size();
    std::size_t at = starts_.size() - 1;
    for (std::size_t use = runs_.size(); use-- > 0;) {
        for (RunProfile::AwayId id = coming_.first[use]; id >= 0; id = coming_.next[id]) {
            const std::int64_t end = std::min(next, starts_[use]);
            next = back_start(end, back_time_[profile_.aways()[id].tensor], outs);
            copied_ += end - next;
            back_.push_back({id, next, end});
            if (next < 0 && graph_.starts_on_host[profile_.aways()[id].tensor]) late_ = -next;
            at = std::min(at, use);
            while (at > 0 && starts_[at] > next) --at;
            if (starts_[at] <= next) returns_[id] = static_cast<std::int64_t>(at);
        }
    }
}

// Plans the copies before the first run. They copy the residents that live on the host and are not away at
// the start.
void PlannedCopies::plan_homes() {
    for (const CopyGraph::Resident& resident : graph_.residents) {
        const bool leaves = !profile_.aways_of(resident.first).empty() ||
                            !profile_.aways_of(resident.last).empty() || graph_.is_new_there(resident.first);
        if (leaves && profile_.away_before(resident.first, profile_.events(resident.first)[1]) < 0)
            late_ += back_time_[resident.first];
    }
}

void PlannedCopies::move_gaps() {
    const auto aways = profile_.aways();
    for (std::size_t i = 0; i < aways.size(); ++i) {
        if (aways[i].tensor < 0) continue;
        const auto id = static_cast<RunProfile::AwayId>(i);
        const std::int64_t gone = gone_[i], back = returns_[i];
        if (back == kFarOff && gone < kFarOff)
            profile_.move_away(id, runs_[static_cast<std::size_t>(gone)], RunProfile::kNone);
        else if (gone < back)
            profile_.move_away(id, runs_[static_cast<std::size_t>(gone)],
                               runs_[static_cast<std::size_t>(back)]);
        else
            profile_.move_away(id, aways[i].use, aways[i].use);
    }
}

}  // namespace rematlas::annealing
