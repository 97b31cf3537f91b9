// How fast the host of a device updates parameters that are in the host's memory.
//
//     Result<HostProfile> host = host_profile("desktop");       // of resources/hosts, built into the program
//     Result<HostProfile> mine = host_profile("links.json");    // a file, e.g. written by `rematlas links`
//     Nanoseconds time = update_time(*host, 14.0 * elements);
//
// An optimizer's update does only a few flops for each number that it moves, so the bandwidth of the memory
// decides its time (Williams, Waterman and Patterson, Roofline, 2009). With few cores, the bandwidth that
// these cores reach decides the time. Format, with a source for each figure under "sources":
//
//     {"format": "rematlas.host", "version": 1, "name": "a desktop with ...", "cores": 16,
//      "memory_bytes": ..., "memory_bytes_per_second": 65e9, "core_bytes_per_second": 20e9,
//      "launch_ns": 10000, "sources": {...}}
//
// A file of links (link_profile.h) has the same fields in the object "host", without a format.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "core/base/ids.h"
#include "core/base/result.h"

namespace rematlas {

class Fields;

struct HostProfile {
    std::string name;
    int cores = 1;
    Bytes memory = {};  ///< 0: unknown, and not limited
    /// The rate of all cores together, for reading and writing.
    double memory_bytes_per_second = 0;
    double core_bytes_per_second = 0;  ///< rate of one core; 0: cores set no limit
    Nanoseconds launch = {};           ///< added to the time of every update
    std::map<std::string, std::string> sources = {};
};

/// Reads a profile by its name, or from a path that ends in .json. Errors are one line that names the file
/// and the field.
Result<HostProfile> host_profile(const std::string& name_or_path);
Result<HostProfile> parse_host_profile(std::string_view text, std::string_view name);

/// `host_from` reads the host that an object in a file describes; `add_host` writes a host into such an
/// object. Reading throws FieldError, as Fields does.
HostProfile host_from(const Fields& object);
void add_host(const HostProfile& host, nlohmann::json& object);

/// Returns the time of an update that reads and writes `bytes` bytes in all.
Nanoseconds update_time(const HostProfile& host, double bytes);

/// Returns a text for users: "a desktop with ...: updates move 65 GB/s".
std::string described(const HostProfile& host);

}  // namespace rematlas
