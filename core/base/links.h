// The speed of copies between a device and the memory of the host.
//
//     Links pcie{.to_host_bytes_per_second = 25e9, .to_device_bytes_per_second = 25e9};
//
// docs/concepts/schedules.md defines how long a copy takes over these links. In files of graphs, schedules
// and device profiles the fields have these names: to_host_bytes_per_second, to_device_bytes_per_second,
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
    /// The speeds while bytes also move in the other direction; 0: equal to the speeds above.
    double to_host_contended_bytes_per_second = 0, to_device_contended_bytes_per_second = 0;
    Nanoseconds copy_latency = {};  ///< time before the first byte of each copy moves
    /// Advice to solvers, not a rule: copies of tensors with fewer bytes are not worthwhile.
    Bytes least_copy = {};

    /// Says whether bytes can be copied to the host and back.
    bool both_ways() const { return to_host_bytes_per_second > 0 && to_device_bytes_per_second > 0; }
    bool operator==(const Links&) const = default;
};

/// Reads the links from the fields of an object in a file; a missing field is 0. Throws FieldError, as Fields
/// does.
Links links_from(const Fields& object);

/// Writes both speeds, and each other field that is not 0.
void add_links(const Links& links, nlohmann::json& object);

}  // namespace rematlas
