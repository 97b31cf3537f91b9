#include "runtime/replay/device_graph_step.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "runtime/dispatch/collectives.h"
#include "runtime/model/training_step.h"
#include "runtime/replay/compare.h"

namespace rematlas {
namespace {

/// Ops that wait for the device although they have no tag that says so.
constexpr std::array<std::string_view, 8> waiting{
    "aten::equal",           "aten::is_nonzero",          "aten::item",
    "aten::allclose",        "aten::_ctc_loss",           "aten::_ctc_loss_backward",
    "aten::_cudnn_ctc_loss", "aten::_linalg_check_errors"};

bool solves_linear_systems(std::string_view name) {
    return name.starts_with("aten::linalg_") || name.starts_with("aten::_linalg_") ||
           name.starts_with("aten::cholesky") || name.starts_with("aten::lu_");
}

class Inspector {
  public:
    Inspector(const Graph& graph, const Tape& tape)
        : graph_(graph), tape_(tape), on_host_(graph.tensors.size(), 0) {
        for (const Operand& operand : tape.operands)
            if (operand.on_host && operand.tensor.valid()) on_host_[operand.tensor] = true;
    }

    /// Returns why the op cannot be captured; null if it can.
    const char* obstacle(OpId id) const {
        const TapeOp& op = tape_.ops[id];
        if (op.name == output_gradients_op) return nullptr;
        if (indexes_by_mask(op)) return "the host counts what a mask selects";
        if (const char* why = declared(op)) return why;
        if (is_collective(op.name)) return "it exchanges data with other processes";
        if (std::find(waiting.begin(), waiting.end(), op.name) != waiting.end())
            return "the host waits for its result";
        if (solves_linear_systems(op.name)) return "the host reads whether it succeeded";
        if (attends_without_dropout(op)) return nullptr;
        if (makes_on_host(op)) return "it makes a tensor in host memory";
        if (copies_from_host(op)) return "it copies from host memory";
        if (op.draws.value_or(0) < 0) return "it draws from the host's generator";
        if (graph_.ops[id].random && !op.draws)
            return "how far it moves the random number generator is not known";
        return nullptr;
    }

  private:
    static const char* declared(const TapeOp& op) {
        const auto handle = c10::Dispatcher::singleton().findSchema({op.name.c_str(), op.overload.c_str()});
        if (!handle) return nullptr;
        if (handle->hasTag(at::Tag::data_dependent_output)) return "the host reads the value of a tensor";
        // aten::index has the tag `dynamic_output_shape` only because its indices can be masks.
        const bool by_index = op.name == "aten::index";
        if (handle->hasTag(at::Tag::dynamic_output_shape) && !by_index)
            return "the shape of its result depends on values";
        if (handle->hasTag(at::Tag::cudagraph_unsafe)) return "libtorch says that CUDA graphs cannot hold it";
        return nullptr;
    }

    /// Says whether the op is fused attention without dropout. Fused attention returns a seed and an offset,
    /// on the host unless graphs are captured. Without dropout the backward does not read them, so these
    /// tensors of the host are no obstacle.
    static bool attends_without_dropout(const TapeOp& op) {
        if (!op.name.starts_with("aten::_scaled_dot_product_")) return false;
        const auto handle = c10::Dispatcher::singleton().findSchema({op.name.c_str(), op.overload.c_str()});
        if (!handle) return false;
        const auto place = handle->schema().argumentIndexWithName("dropout_p");
        return place && op.arguments.at(static_cast<std::size_t>(*place)).value.isDouble() &&
               op.arguments[static_cast<std::size_t>(*place)].value.toDouble() == 0;
    }

    bool indexes_by_mask(const TapeOp& op) const {
        if (!op.name.starts_with("aten::index") && !op.name.starts_with("aten::_index_put")) return false;
        return std::any_of(op.arguments.begin(), op.arguments.end(), [&](const Argument& argument) {
            return argument.kind == Argument::Kind::optional_tensors &&
                   any_operand(argument, [](const Operand& o) {
                       return o.dtype == c10::ScalarType::Bool || o.dtype == c10::ScalarType::Byte;
                   });
        });
    }

    bool makes_on_host(const TapeOp& op) const {
        const auto is_on_host = [&](TensorId tensor) { return tensor.valid() && on_host_[tensor]; };
        return std::any_of(op.returns.begin(), op.returns.end(), is_on_host) ||
               std::any_of(op.overwrites.begin(), op.overwrites.end(), [&](const Overwrite& overwrite) {
                   return is_on_host(overwrite.before) || is_on_host(overwrite.after);
               });
    }

    /// Says whether the op copies a tensor from host memory. A number in host memory does not prevent the
    /// capture: the host reads it when it launches the kernel, and the graph keeps its value.
    bool copies_from_host(const TapeOp& op) const {
        const bool copies = op.name == "aten::copy_" || op.name == "aten::_to_copy";
        return std::any_of(op.arguments.begin(), op.arguments.end(), [&](const Argument& argument) {
            return any_operand(argument, [&](const Operand& o) {
                return o.on_host && (copies || (o.tensor.valid() && !o.sizes.empty()));
            });
        });
    }

    template <class Test>
    bool any_operand(const Argument& argument, Test&& test) const {
        return std::any_of(argument.operands.begin(), argument.operands.end(), [&](int operand) {
            return operand != no_operand && test(tape_.operands[operand]);
        });
    }

    const Graph& graph_;
    const Tape& tape_;
    IdVector<TensorId, std::uint8_t> on_host_;
};

}  // namespace

std::optional<std::string> device_graph_obstacle(const Graph& graph, const Tape& tape,
                                                 std::span<const Step> steps) {
    const Inspector inspector(graph, tape);
    IdVector<OpId, std::uint8_t> seen(graph.ops.size(), 0);
    for (const Step& step : steps) {
        if (step.kind == StepKind::run_host) return "op " + graph.ops[step.op()].name + " runs on the host";
        if (!step.runs() && step.kind != StepKind::free)
            return "tensor " + graph.tensors[step.tensor()].name + " is moved to the host and back";
        if (!step.runs() || seen[step.op()]) continue;
        seen[step.op()] = true;
        const Op& op = graph.ops[step.op()];
        if (const char* why = inspector.obstacle(step.op()))
            return "op " + std::to_string(step.id) + " " + op.name +
                   (op.module.empty() ? "" : " in " + op.module) + ": " + why;
    }
    return std::nullopt;
}

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
