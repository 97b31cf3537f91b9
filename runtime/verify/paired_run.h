// Trains a model by a plan, or under eviction, and the original beside it, one step of each at a time, and compares
// what the two steps of a pair leave behind, bit by bit.
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

/// What one step leaves behind.
struct StepOutcome {
    std::vector<at::Tensor> outputs, gradients;
    std::vector<at::Tensor> tensors;  ///< parameters and buffers
    std::vector<at::Tensor> states;   ///< of an optimizer whose updates are part of the step
    std::unique_ptr<GeneratorState> generator;
    Bytes peak;
    double seconds = 0;
};

struct PairedReport {
    Bytes budget;         ///< 0: none
    Bytes measured_peak;  ///< the most of all steps

    // Where the original was trained, too.
    bool verified = false;  ///< all bits are the same, and no peak is too high
    bool outputs_identical = false, gradients_identical = false, buffers_identical = false,
         states_identical = false, random_state_identical = false;
    Bytes original_peak;
    double time_ratio_to_eager = 0;  ///< median over the pairs of their times, over that of the original
    std::string mismatch;            ///< what is wrong, in words; empty where `verified`
};

struct PairedOptions {
    int steps = 5;
    int warm_up = 0;      ///< steps before these, compared and not timed
    bool verify = false;  ///< train the original, too
    std::uint64_t seed = 1;
    /// `fraction` is 1 after `more_steps` further steps that the caller takes.
    std::function<void(std::string_view stage, double fraction)> progress = {};
    int more_steps = 0;
};

/// The two that are trained. A step ends with a small plain gradient step (`descend`).
class PairedSides {
  public:
    virtual ~PairedSides() = default;
    virtual const std::vector<InputSpec>& inputs() const = 0;
    /// Errors: what the model throws, in one line.
    virtual Result<StepOutcome> run_original(const std::vector<at::Tensor>& inputs, std::uint64_t seed) = 0;
    virtual Result<StepOutcome> run_own(std::vector<at::Tensor> inputs, std::uint64_t seed,
                                        bool warms_up) = 0;
    virtual bool is_same(const at::Tensor& original, const at::Tensor& own);
    /// The pair is over.
    virtual void drop(StepOutcome /*original*/) {}
};

/// The inputs of the step of that number, on the device.
std::vector<at::Tensor> inputs_of_step(std::uint64_t step, const std::vector<InputSpec>& specs,
                                       std::uint64_t seed, const DeviceRuntime& device);

/// Fills the report but for `verified`, `mismatch` and `budget`. Each step has inputs and a seed of its own.
Result<void> train_in_pairs(PairedSides& sides, const PairedOptions& options, DeviceRuntime& device,
                            PairedReport& report);

/// The most by which the measured peak may exceed a predicted one.
constexpr double peak_tolerance = 0.002;

/// What is wrong with a report of pairs, in words; empty: nothing. `predicted_peak` of zero bytes: none.
std::string mismatch_of(const PairedReport& report, Bytes predicted_peak);

/// Adds another complaint.
void complain(std::string& mismatch, const std::string& what);

}  // namespace rematlas
