// The fields in the report of a run that was compared with the original.
#pragma once

#include <nlohmann/json.hpp>

#include "runtime/verify/paired_run.h"

namespace rematlas {

/// Adds to the JSON of a run the results of its comparison with the original.
inline void add_comparison(nlohmann::json& object, const PairedReport& report) {
    object["outputs_identical"] = report.outputs_identical;
    object["gradients_identical"] = report.gradients_identical;
    object["buffers_identical"] = report.buffers_identical;
    object["random_state_identical"] = report.random_state_identical;
    object["original_peak_bytes"] = report.original_peak.value;
    object["time_ratio_to_eager"] = report.time_ratio_to_eager;
    if (!report.mismatch.empty()) object["mismatch"] = report.mismatch;
}

}  // namespace rematlas
