// Trains a model for some steps under online eviction, without a plan. On request also trains the original
// beside it. Each training step ends with a small plain gradient step of the weights, which counts as a part
// of the training step.
//
//     Result<EvictedReport> report =
//         train_evicting("model.pt", {.inputs = specs, .budget = *parse_budget("2GiB")}, *device);
//     report->measured_peak;     // never above the budget
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "core/base/sizes.h"
#include "runtime/device/device.h"
#include "runtime/eviction/eviction_trace.h"
#include "runtime/model/training_step.h"
#include "runtime/verify/paired_run.h"

namespace rematlas {

struct EvictedOptions {
    std::vector<InputSpec> inputs;
    Loss loss = Loss::output;
    Budget budget;  ///< shares refer to the original's peak, which is known only with `verify`
    nlohmann::json policy = nlohmann::json::object();  ///< options as the solver `dtr` takes them
    int steps = 5;
    bool verify = false;            ///< whether to run the original too, on a second copy of the model; both
                                    ///< copies must fit into memory
    bool record = false;            ///< whether to keep a record of the last step
    bool costs_from_bytes = false;  ///< makes each run evict the same tensors; see EvictorOptions
    std::uint64_t seed = 1;
    int threads = 1;  ///< threads of libtorch
    std::function<void(std::string_view stage, double fraction)> progress = {};
};

struct EvictedReport : PairedReport {
    struct Step {
        double seconds = 0;
        std::int64_t evictions = 0;  ///< evictions because memory was short
        std::int64_t reruns = 0;     ///< runs of ops that had run before
        Bytes peak;
    };
    std::vector<Step> steps;
    std::int64_t calls = 0;     ///< number of ops that touched data, in all training steps
    double rerun_overhead = 1;  ///< time of all runs divided by the time of the first runs, in all steps
    std::optional<EvictedStep> record;
};

/// An error is one line. It has `ErrorKind::negative` if eviction thrashes or the budget cannot be kept. In
/// the second case it names the op, the missing bytes, and the largest tensors that cannot be evicted.
Result<EvictedReport> train_evicting(const std::filesystem::path& model, const EvictedOptions& options,
                                     DeviceRuntime& device);

}  // namespace rematlas
