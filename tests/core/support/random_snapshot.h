// Memory snapshots of an allocator that is played here, with what is true of them.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rematlas {

struct DeviceTruth {
    std::vector<std::int64_t> allocated, reserved;  ///< for each moment of the events that were kept
    /// At the first moment with the most bytes allocated: bytes by place, "?" where a snapshot cannot
    /// tell.
    std::map<std::string, std::int64_t> at_peak;
    std::int64_t largest_free = 0, inactive = 0;  ///< at the end
};

struct RandomSnapshot {
    nlohmann::ordered_json snapshot;  ///< as torch.cuda.memory._snapshot() returns it
    std::vector<DeviceTruth> devices;
};

struct SnapshotOptions {
    int events = 400;  ///< about so many happen on each device
    int kept = 150;    ///< the last ones, which the snapshot has
    int devices = 2;
};

RandomSnapshot random_snapshot(std::uint32_t seed, const SnapshotOptions& options = {});

}  // namespace rematlas
