#include "runtime/replay/device_graph_step.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>

#include "runtime/model/training_step.h"
#include "runtime/replay/compare.h"
#include "runtime/replay/device_graph_obstacle.h"

namespace rematlas {

/// Captures two parts with the caller's loss between them, or one part if the graph has its own loss. The
/// device does not run the parts yet.
Result<void> DeviceGraphStep::capture() {
    const BoundModel& model = run_.model;
    const auto& steps = plan_.steps;
    const std::size_t asks = static_cast<std::size_t>(
        std::find_if(steps.begin(), steps.end(),
                     [&](const Step& step) { return step.runs() && step.op() == model.loss; }) -
        steps.begin());
    std::vector<std::function<void()>> parts;
    if (asks < steps.size()) {
        parts.push_back([&] { run_.play_plainly(asks); });
        // `output_gradients_` refers to the memory of these gradients without owning it. Otherwise the memory
        // would stay in use after the schedule has freed the gradients.
        run_.fill_gradients = [&](std::vector<at::Tensor>& made) {
            for (const at::Tensor& gradient : made)
                output_gradients_.push_back(at::from_blob(gradient.mutable_data_ptr(), gradient.sizes(),
                                                          gradient.strides(), gradient.options()));
        };
    }
    parts.push_back([&] {
        run_.play_plainly(steps.size());
        outputs = run_.outputs();
        gradients = run_.gradients();
        run_.update_buffers();
    });
    BelowAutograd below;
    run_.turns.capturing = true;
    std::string failure;
    try {
        graphs_ = model.device.capture_graphs(parts);
    } catch (const std::exception& error) {
        const std::size_t at = run_.at();
        failure = (at < steps.size() && steps[at].runs() ? model.label(steps[at].op()) + ": " : "") +
                  one_line(error);
    }
    peak = Bytes(model.device.peak_bytes() - run_.outside);
    draws_ = model.draws_before(static_cast<int>(model.random_ops.size()));
    for (const at::Tensor& one : model.bound) bound_.push_back(one.const_data_ptr());
    run_.clear();
    if (failure.empty()) return {};
    model.device.trim();
    return Error{failure, ErrorKind::negative};
}

Result<std::unique_ptr<DeviceGraphStep>> DeviceGraphStep::capture(const BoundModel& model,
                                                                  std::span<const Step> steps,
                                                                  const std::vector<at::Tensor>& inputs) {
    if (!model.device.can_capture_graphs())
        return Error{"work on " + model.device.name() + " cannot be captured as graphs", ErrorKind::negative};
    if (const auto obstacle = device_graph_obstacle(model.graph, model.tape, steps))
        return Error{*obstacle, ErrorKind::negative};
    for (OpId op : model.random_ops)
        if (!model.tape.ops[op].draws)
            return Error{model.label(op) + ": how far it moves the random number generator is not known",
                         ErrorKind::negative};
    std::unique_ptr<DeviceGraphStep> captured(new DeviceGraphStep(model));
    Result<ReplayPlan> plan = ReplayPlan::make(model, steps);
    if (!plan) return plan.error();
    captured->plan_ = plan.take();
    captured->inputs_ = copies_of(inputs);
    if (Result<void> begun = captured->run_.begin(captured->plan_, captured->inputs_, {}); !begun)
        return begun.error();
    model.device.reset_peak();
    if (Result<void> done = captured->capture(); !done) return done.error();
    return captured;
}

Result<void> DeviceGraphStep::submit(const std::vector<at::Tensor>& inputs, std::uint64_t gradient_seed) {
    const BoundModel& model = run_.model;
    for (std::size_t i = 0; i < model.bound.size(); ++i) {
        if (model.bound[i].const_data_ptr() != bound_[i])
            return Error{model.owner + ": " + model.tape.bindings[i].name +
                         " was given other memory since the step was captured"};
    }
    Result<void> fed = model.place_inputs(run_.operands, inputs);
    run_.clear();
    if (!fed) return fed.error();
    try {
        at::NoGradGuard no_grad;
        for (std::size_t i = 0; i < inputs.size(); ++i) inputs_[i].copy_(inputs[i]);
        graphs_->submit(0);
        if (!output_gradients_.empty()) {
            draw_output_gradients(output_gradients_, gradient_seed);
            graphs_->submit(1);
        }
        const std::unique_ptr<GeneratorState> generator = model.device.generator_state();
        generator->advance(draws_);
        model.device.set_generator_state(*generator);
        model.device.synchronize();
    } catch (const std::exception& error) {
        return Error{"the captured step: " + one_line(error)};
    }
    return {};
}

}  // namespace rematlas
