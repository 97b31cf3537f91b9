// Memory snapshots of a simulated allocator, with the expected values for them.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rematlas {

struct DeviceTruth {
    std::vector<std::int64_t> allocated, reserved;  ///< bytes at each moment of the recorded events
    /// The bytes by place at the first moment with the most allocated bytes. The place is "?" if a snapshot
    /// cannot show it.
    std::map<std::string, std::int64_t> at_peak;
    std::int64_t largest_free = 0, inactive = 0;  ///< bytes at the end
};

struct RandomSnapshot {
    nlohmann::ordered_json snapshot;  ///< in the form of torch.cuda.memory._snapshot()
    std::vector<DeviceTruth> devices;
};

struct SnapshotOptions {
    int events = 400;  ///< approximate number of events on each device
    int kept = 150;    ///< how many of the last events the snapshot contains
    int devices = 2;
};

RandomSnapshot random_snapshot(std::uint32_t seed, const SnapshotOptions& options = {});

}  // namespace rematlas
