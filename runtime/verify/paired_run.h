// Trains a model by a plan or under eviction, and the original beside it, one step of each in turn. Compares
// the results of the two steps of a pair bit by bit.
//
//     PairedReport report;
//     Result<void> done = train_in_pairs(sides, {.steps = 5, .verify = true}, *device, report);
//     report.mismatch = mismatch_of(report, predicted_peak);
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/sizes.h"
#include "runtime/device/device.h"
#include "runtime/model/input_spec.h"

namespace rematlas {

/// The state and the results after one step.
struct StepOutcome {
    std::vector<at::Tensor> outputs, gradients;
    std::vector<at::Tensor> tensors;  ///< parameters and buffers
    std::vector<at::Tensor> states;   ///< states of an optimizer whose updates are part of the step
    std::unique_ptr<GeneratorState> generator;
    Bytes peak;
    double seconds = 0;
};

struct PairedReport {
    Bytes budget;         ///< 0 if there is no budget
    Bytes measured_peak;  ///< largest peak of all steps

    // The fields below are set if the original was trained too.
    bool verified = false;  ///< whether all bits are the same, and no peak is too high
    bool outputs_identical = false, gradients_identical = false, buffers_identical = false,
         states_identical = false, random_state_identical = false;
    Bytes original_peak;
    double time_ratio_to_eager = 0;  ///< median over the pairs: time of the step divided by the time of the
                                     ///< original's step
    std::string mismatch;            ///< describes what is wrong; empty if `verified`
};

struct PairedOptions {
    int steps = 5;
    int warm_up = 0;      ///< number of steps before the `steps`; they are compared but not timed
    bool verify = false;  ///< whether to train the original too
    std::uint64_t seed = 1;
    /// Called with the progress. `fraction` also counts the `more_steps` below.
    std::function<void(std::string_view stage, double fraction)> progress = {};
    int more_steps = 0;  ///< number of steps that the caller itself runs after all pairs
};

/// The two models that are trained. A step ends with a small plain gradient step (`descend`), unless an
/// optimizer is part of the step.
class PairedSides {
  public:
    virtual ~PairedSides() = default;
    virtual const std::vector<InputSpec>& inputs() const = 0;
    /// Runs a step of the original. An error is the model's exception, in one line.
    virtual Result<StepOutcome> run_original(const std::vector<at::Tensor>& inputs, std::uint64_t seed) = 0;
    virtual Result<StepOutcome> run_own(std::vector<at::Tensor> inputs, std::uint64_t seed,
                                        bool warms_up) = 0;
    virtual bool is_same(const at::Tensor& original, const at::Tensor& own);
    /// Frees the original's results. Called when the pair is over.
    virtual void drop(StepOutcome /*original*/) {}
};

/// Returns the inputs of step number `step`, on the device.
std::vector<at::Tensor> inputs_of_step(std::uint64_t step, const std::vector<InputSpec>& specs,
                                       std::uint64_t seed, const DeviceRuntime& device);

/// Trains both sides. Fills the report except `verified`, `mismatch` and `budget`. Each step has its own
/// inputs and seed.
Result<void> train_in_pairs(PairedSides& sides, const PairedOptions& options, DeviceRuntime& device,
                            PairedReport& report);

/// The measured peak may exceed a predicted peak by at most this share of the predicted peak.
constexpr double peak_tolerance = 0.002;

/// Returns a description of what is wrong in the report; empty if nothing is wrong. `predicted_peak` is zero
/// if there is no prediction.
std::string mismatch_of(const PairedReport& report, Bytes predicted_peak);

/// Appends another complaint to `mismatch`.
void complain(std::string& mismatch, const std::string& what);

}  // namespace rematlas
