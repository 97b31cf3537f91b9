#include "tests/simgpu/races.h"

#include <algorithm>

namespace simgpu {

void Clock::set(std::size_t stream, std::uint64_t tick) {
    if (ticks_.size() <= stream) ticks_.resize(stream + 1, 0);
    ticks_[stream] = tick;
}

void Clock::join(const Clock& other) {
    if (ticks_.size() < other.ticks_.size()) ticks_.resize(other.ticks_.size(), 0);
    for (std::size_t i = 0; i < other.ticks_.size(); ++i) ticks_[i] = std::max(ticks_[i], other.ticks_[i]);
}

void History::split(std::uintptr_t at) {
    auto after = segments_.upper_bound(at);
    if (after == segments_.begin()) return;
    const auto found = std::prev(after);
    if (found->first == at || found->second.end <= at) return;
    Segment tail = found->second;
    found->second.end = at;
    segments_.emplace_hint(after, at, std::move(tail));
}

std::uint32_t History::number_of(const std::string& name) {
    const auto [found, fresh] = numbers_.emplace(name, static_cast<std::uint32_t>(names_.size()));
    if (fresh) names_.push_back(name);
    return found->second;
}

std::optional<std::string> History::note(const std::vector<Access>& accesses, std::size_t stream,
                                         const Clock& clock, const std::string& name) {
    std::optional<std::string> race;
    const Touch mine{stream, clock[stream], number_of(name)};
    const auto compare = [&](const Touch& other, const char* mine_does, const char* other_did) {
        if (race || other.stream == stream || clock[other.stream] >= other.tick) return;
        // This race is libtorch's own, so it is not reported: libtorch fills the seed and the offset of a
        // recorded generator on the stream of each replay, without ordering the streams.
        if (other.name == mine.name && name == "aten::fill_.Scalar" &&
            accesses.front().end - accesses.front().begin == 8)
            return;
        race = name + " on stream " + std::to_string(stream) + " " + mine_does + " what " +
               names_[other.name] + " on stream " + std::to_string(other.stream) + " " + other_did +
               ", and nothing orders them";
    };
    for (const Access& access : accesses) {
        if (access.begin >= access.end) continue;
        split(access.begin), split(access.end);
        auto next = segments_.lower_bound(access.begin);
        if (access.writes) {
            while (next != segments_.end() && next->first < access.end) {
                if (next->second.write) compare(*next->second.write, "writes", "wrote");
                for (const Touch& read : next->second.reads) compare(read, "writes", "reads");
                next = segments_.erase(next);
            }
            segments_.emplace_hint(next, access.begin, Segment{access.end, mine, {}});
            continue;
        }
        std::uintptr_t at = access.begin;
        while (at < access.end) {
            if (next == segments_.end() || next->first > at) {  // this range was never accessed before
                const std::uintptr_t end =
                    next == segments_.end() ? access.end : std::min(access.end, next->first);
                segments_.emplace_hint(next, at, Segment{end, std::nullopt, {mine}});
                at = end;
                continue;
            }
            Segment& segment = next->second;
            if (segment.write) compare(*segment.write, "reads", "wrote");
            const auto same = std::find_if(segment.reads.begin(), segment.reads.end(),
                                           [&](const Touch& read) { return read.stream == stream; });
            if (same == segment.reads.end())
                segment.reads.push_back(mine);
            else
                *same = mine;
            at = segment.end;
            ++next;
        }
    }
    return race;
}

void History::forget(std::uintptr_t begin, std::uintptr_t end) {
    split(begin), split(end);
    segments_.erase(segments_.lower_bound(begin), segments_.lower_bound(end));
}

}  // namespace simgpu
