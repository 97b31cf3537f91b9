#include "runtime/verify/paired_run.h"

#include <ATen/core/grad_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <utility>

#include "runtime/replay/compare.h"
#include "runtime/torch_versions/own_key.h"

namespace rematlas {
namespace {

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

class PairedRun {
  public:
    PairedRun(PairedSides& sides, const PairedOptions& options, DeviceRuntime& device, PairedReport& report)
        : sides_(sides), options_(options), device_(device), report_(report) {}

    Result<void> run() {
        report_.outputs_identical = report_.gradients_identical = report_.buffers_identical =
            report_.states_identical = report_.random_state_identical = options_.verify;
        const int steps = options_.warm_up + options_.steps;
        for (int step = 0; step < steps; ++step) {
            const bool warms_up = step < options_.warm_up;
            if (options_.progress)
                options_.progress(warms_up ? "warm-up" : "run", double(step) / (steps + options_.more_steps));
            if (Result<void> done = pair(static_cast<std::uint64_t>(step), warms_up); !done) return done;
        }
        report_.time_ratio_to_eager = median(std::move(ratios_));
        return {};
    }

  private:
    Result<void> pair(std::uint64_t step, bool warms_up) {
        // Each side has its own inputs, because a step may write to them.
        const auto inputs = [&] { return inputs_of_step(step, sides_.inputs(), options_.seed, device_); };
        const std::uint64_t seed = options_.seed * 7919 + step;
        StepOutcome original;
        if (options_.verify) {
            Result<StepOutcome> done = sides_.run_original(inputs(), seed);
            if (!done) return done.error();
            original = done.take();
            report_.original_peak = std::max(report_.original_peak, original.peak);
        }
        {
            const Result<StepOutcome> own = sides_.run_own(inputs(), seed, warms_up);
            if (!own) return own.error();
            report_.measured_peak = std::max(report_.measured_peak, own->peak);
            if (!options_.verify) return {};
            if (!warms_up) ratios_.push_back(own->seconds / original.seconds);
            compare(original, *own);
        }
        sides_.drop(std::move(original));
        return {};
    }

    bool same(const std::vector<at::Tensor>& original, const std::vector<at::Tensor>& own) const {
        return std::equal(original.begin(), original.end(), own.begin(), own.end(),
                          [&](const at::Tensor& a, const at::Tensor& b) { return sides_.is_same(a, b); });
    }

    void compare(const StepOutcome& original, const StepOutcome& own) {
        report_.outputs_identical &= same(original.outputs, own.outputs);
        report_.gradients_identical &= same(original.gradients, own.gradients);
        report_.buffers_identical &= same(original.tensors, own.tensors);
        report_.states_identical &= same(original.states, own.states);
        report_.random_state_identical &= own.generator->equals(*original.generator);
    }

    PairedSides& sides_;
    const PairedOptions& options_;
    DeviceRuntime& device_;
    PairedReport& report_;
    std::vector<double> ratios_;
};

}  // namespace

bool PairedSides::is_same(const at::Tensor& original, const at::Tensor& own) {
    return identical(original, own);
}

std::vector<at::Tensor> inputs_of_step(std::uint64_t step, const std::vector<InputSpec>& specs,
                                       std::uint64_t seed, const DeviceRuntime& device) {
    const c10::impl::ExcludeDispatchKeyGuard unseen(own_key);
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor> inputs = draw_inputs(specs, seed * 1000003 + step);
    for (at::Tensor& input : inputs) input = input.to(device.device());
    return inputs;
}

Result<void> train_in_pairs(PairedSides& sides, const PairedOptions& options, DeviceRuntime& device,
                            PairedReport& report) {
    return PairedRun(sides, options, device, report).run();
}

void complain(std::string& mismatch, const std::string& what) {
    mismatch += (mismatch.empty() ? "" : "; ") + what;
}

std::string mismatch_of(const PairedReport& report, Bytes predicted_peak) {
    std::string mismatch;
    const std::string measured =
        "measured peak " + std::to_string(report.measured_peak.value) + " bytes is above ";
    if (!report.outputs_identical) complain(mismatch, "outputs differ from the original's");
    if (!report.gradients_identical) complain(mismatch, "gradients differ from the original's");
    if (!report.buffers_identical) complain(mismatch, "parameters or buffers differ from the original's");
    if (!report.states_identical) complain(mismatch, "states of the optimizer differ from the original's");
    if (!report.random_state_identical) complain(mismatch, "random state differs from the original's");
    if (predicted_peak.value > 0 &&
        double(report.measured_peak.value) > double(predicted_peak.value) * (1 + peak_tolerance))
        complain(mismatch, measured + "the predicted " + std::to_string(predicted_peak.value));
    if (report.budget.value > 0 && report.measured_peak > report.budget)
        complain(mismatch, measured + "the budget of " + std::to_string(report.budget.value));
    return mismatch;
}

}  // namespace rematlas
