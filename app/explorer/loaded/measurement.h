// A measurement of memory by torch, prepared for painting.
#pragma once

#include <filesystem>
#include <memory>
#include <stop_token>
#include <vector>

#include "core/base/result.h"
#include "core/snapshots/measured_memory.h"
#include "viz/paint/measured_bands.h"

namespace rematlas::explorer {

struct Measurement {
    std::filesystem::path path;
    MeasuredMemory memory;
    std::vector<MeasuredBands> bands = {};  ///< one for each measured device
};
using MeasurementPtr = std::shared_ptr<const Measurement>;

/// Reads a measurement. Any thread may call it. The error message is one line that names the file.
Result<MeasurementPtr> load_measurement(const std::filesystem::path& path, std::stop_token stop = {});

}  // namespace rematlas::explorer
