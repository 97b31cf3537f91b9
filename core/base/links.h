// How bytes move between a device and the memory of the host.
//
//     Links pcie{.to_host_bytes_per_second = 25e9, .to_device_bytes_per_second = 25e9};
//
// core/schedule/README.md says how long a copy takes over these links. In files of graphs, schedules and
// device profiles the fields have the same names: to_host_bytes_per_second, to_device_bytes_per_second,
// to_host_contended_bytes_per_second, to_device_contended_bytes_per_second, copy_latency_ns,
// least_copy_bytes.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/base/ids.h"

namespace rematlas {

class Fields;

struct Links {
    double to_host_bytes_per_second = 0;  ///< 0: nothing can be copied
    double to_device_bytes_per_second = 0;
    /// The speeds while bytes move the other way too; 0: the same as while they do not.
    double to_host_contended_bytes_per_second = 0, to_device_contended_bytes_per_second = 0;
    Nanoseconds copy_latency = {};  ///< of each copy, before its first byte moves
    Bytes least_copy = {};          ///< smaller tensors are not worth a copy: advice to solvers, no rule

    /// Whether bytes can leave and come back.
    bool both_ways() const { return to_host_bytes_per_second > 0 && to_device_bytes_per_second > 0; }
    bool operator==(const Links&) const = default;
};

/// The links that an object in a file names among its fields; a missing field is 0. Throws FieldError, as
/// Fields does.
Links links_from(const Fields& object);

/// Writes both speeds, and the other fields that are not 0.
void add_links(const Links& links, nlohmann::json& object);

}  // namespace rematlas
