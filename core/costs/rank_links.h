// The times of collectives between ranks, from the speeds of the links between them.
//
//     Result<RankLinks> links = rank_links_named("nvlink4,ib400");   // within nodes, between nodes
//     RankGroup group{.queue = "fsdp", .ranks = 64, .in_a_node = 8};
//     Nanoseconds time = *links->time_of(RankCollective::gather, Bytes(1 << 30), group);
//
// Format of resources/rank_links, with a source for each figure under "sources":
//
//     {"format": "rematlas.rank_links", "version": 1, "name": "NVLink 4 within nodes of 8", "ranks": 8,
//      "bytes_per_second": ..., "start_ns": ..., "hop_ns": ..., "sources": {...}}
//
// "ranks" says how many neighbouring ranks the links connect; without it they connect all ranks.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"

namespace rematlas {

/// A kind of links, as a file describes it.
struct RankLink {
    std::string name;
    int ranks = 0;                ///< how many neighbouring ranks are connected; 0: all
    double bytes_per_second = 0;  ///< rate at which each rank sends in the ring of a collective
    Nanoseconds start = {};       ///< added to the time of every collective
    Nanoseconds hop = {};         ///< time of the first byte from one rank of a ring to the next
    std::map<std::string, std::string> sources = {};
};

/// The ranks that take part in a collective.
struct RankGroup {
    std::string queue;  ///< name of the queue in which the group's collectives run (Op::collective)
    int ranks = 1;
    int in_a_node = 1;  ///< how many ranks of the group are in one node, that is, among `RankLink::ranks`
                        ///< neighbours
};

enum class RankCollective { gather, scatter, sum, other };

/// Returns the kind of the collective op with this name, such as _c10d_functional::all_gather_into_tensor.
RankCollective rank_collective_from(std::string_view op);

/// The links of all ranks.
struct RankLinks {
    std::vector<RankLink> links;  ///< the links of the fewest ranks first

    /// Returns how many neighbouring ranks the first of `links` connects; 1 if it connects all ranks.
    int node() const;

    /// Returns the time of a ring algorithm: start + hops x hop + sent bytes / speed (Thakur, Rabenseifner
    /// and Gropp, Optimization of collective communication operations in MPICH, 2005, sections 3 and 4).
    /// `bytes` is the size of the whole tensor, of which each rank has a part or gets a part. A ring through
    /// several nodes uses the adapters of all ranks in a node. Fails if no link connects the group, or
    /// if the time is too long to count.
    Result<Nanoseconds> time_of(RankCollective kind, Bytes bytes, const RankGroup& group) const;
};

/// Returns the bytes that one rank sends.
Bytes sent_bytes(RankCollective kind, Bytes bytes, const RankGroup& group);

/// Reads links from the text of a file. Errors are one line that names the file and the field.
Result<RankLink> parse_rank_link(std::string_view text, std::string_view name);

/// Returns the links of a list such as "nvlink4,ib400". Each name is one of resources/rank_links, or a path
/// that ends in .json. Fails for an unknown name, and for two kinds of links that connect all ranks.
Result<RankLinks> rank_links_named(const std::string& names);

}  // namespace rematlas
