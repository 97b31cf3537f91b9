#include "core/costs/rank_links.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "core/costs/builtin_profiles.h"
#include "core/costs/profile_fields.h"

namespace rematlas {
namespace {

constexpr std::int64_t kMostRanks = 1 << 20;
constexpr std::int64_t kLongest = std::int64_t{1} << 50;  // ns

RankLink read_link(const Fields& file) {
    expect_format(file, "rematlas.rank_links", 1);
    file.refuse_unknown("format version name ranks bytes_per_second start_ns hop_ns sources");
    RankLink link{.name = file.text("name")};
    const std::int64_t ranks = file.integer_or("ranks", 0);
    if (ranks < 0 || ranks == 1 || ranks > kMostRanks) file.fail("ranks is out of range");
    link.ranks = static_cast<int>(ranks);
    link.bytes_per_second = file.number("bytes_per_second");
    if (!(link.bytes_per_second > 0)) file.fail("bytes_per_second is not above 0");
    link.start = Nanoseconds(file.integer_or("start_ns", 0));
    link.hop = Nanoseconds(file.integer_or("hop_ns", 0));
    if (link.start.value < 0 || link.hop.value < 0) file.fail("a time is negative");
    link.sources = sources_in(file);
    return link;
}

/// Returns how often each part of the tensor moves from one rank to the next: it goes around the ring once,
/// or twice for a sum.
int hops(RankCollective kind, int ranks) {
    return (kind == RankCollective::sum ? 2 : 1) * (ranks - 1);
}

}  // namespace

RankCollective rank_collective_from(std::string_view op) {
    if (op.find("all_gather") != op.npos || op.find("allgather") != op.npos) return RankCollective::gather;
    if (op.find("reduce_scatter") != op.npos) return RankCollective::scatter;
    if (op.find("all_reduce") != op.npos || op.find("allreduce") != op.npos) return RankCollective::sum;
    return RankCollective::other;
}

Bytes sent_bytes(RankCollective kind, Bytes bytes, const RankGroup& group) {
    const double share = static_cast<double>(hops(kind, group.ranks)) / group.ranks;
    return Bytes(std::llround(static_cast<double>(bytes.value) * share));
}

int RankLinks::node() const {
    return std::max(1, links.front().ranks);
}

Result<Nanoseconds> RankLinks::time_of(RankCollective kind, Bytes bytes, const RankGroup& group) const {
    const RankLink& inner = links.front();
    const bool is_within = inner.ranks == 0 || group.ranks <= group.in_a_node;
    if (!is_within && links.size() < 2)
        return Error{"a group of " + std::to_string(group.ranks) + " ranks spans several nodes of " +
                     std::to_string(inner.ranks) +
                     ": name the links between nodes too, such as nvlink4,ib400"};
    const RankLink& outer = is_within ? inner : links.back();
    double speed = outer.bytes_per_second;
    if (!is_within && group.in_a_node > 1) speed = std::min(inner.bytes_per_second, speed * group.in_a_node);
    const double moving = static_cast<double>(sent_bytes(kind, bytes, group).value) / speed * 1e9;
    const double time = static_cast<double>(outer.start.value) +
                        static_cast<double>(outer.hop.value) * hops(kind, group.ranks) + moving;
    if (!(time <= static_cast<double>(kLongest))) return Error{"a collective takes too long to count"};
    return Nanoseconds(std::llround(time));
}

Result<RankLink> parse_rank_link(std::string_view text, std::string_view name) {
    return read_object(text, name, read_link);
}

Result<RankLinks> rank_links_named(const std::string& names) {
    RankLinks found;
    std::istringstream list(names);
    for (std::string name; std::getline(list, name, ',');) {
        const Result<std::string> text =
            profile_text(builtin_rank_links(), name,
                         "links between ranks '" + name.substr(0, 60) + "' are not known; known are " +
                             listed(builtin_rank_links()) + ", and paths that end in .json");
        if (!text) return text.error();
        Result<RankLink> link = parse_rank_link(*text, name);
        if (!link) return link.error();
        found.links.push_back(link.take());
    }
    if (found.links.empty() || found.links.size() > 2)
        return Error{"give one or two kinds of links between ranks, such as nvlink4,ib400"};
    std::sort(found.links.begin(), found.links.end(),
              [](const RankLink& a, const RankLink& b) { return a.ranks > b.ranks; });
    if (found.links.size() == 2 && found.links.back().ranks != 0)
        return Error{"links '" + names.substr(0, 60) + "': none of the two connects all ranks"};
    if (found.links.size() == 2 && found.links.front().ranks == 0)
        return Error{"links '" + names.substr(0, 60) + "': both connect all ranks; give one of them"};
    return found;
}

}  // namespace rematlas
