#include "runtime/capture/optimizer_ops.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <map>
#include <set>

#include "runtime/capture/added_ops.h"
#include "runtime/capture/gradient_layout.h"

namespace rematlas {
namespace {

/// Says whether every element has its own memory and there are no gaps.
bool is_dense(const Operand& operand) {
    std::vector<std::pair<std::int64_t, std::int64_t>> axes;
    for (std::size_t i = 0; i < operand.sizes.size(); ++i)
        if (operand.sizes[i] != 1) axes.emplace_back(operand.strides[i], operand.sizes[i]);
    std::sort(axes.begin(), axes.end());
    std::int64_t next = 1;
    for (const auto& [stride, size] : axes) {
        if (stride != next) return false;
        next *= size;
    }
    return true;
}

class Updates : private AddedOps {
  public:
    Updates(CapturedStep& step, const DeviceRuntime& device, const StepEnd& end)
        : AddedOps(step, device), end_(end) {
        for (OpId op : graph_.ops.ids())
            for (TensorId read : graph_.ops[op].inputs) readers_[read].push_back(op);
    }

    Result<void> add(const OptimizerGroup& group) {
        const int lr = end_.updates ? add_rate(group.optimizer.lr) : no_operand;
        const std::set<std::string> named(group.parameters.begin(), group.parameters.end());
        for (GradientOf& gradient : tape_.gradients) {
            if (gradient.input >= 0 || gradient.operand == no_operand) continue;
            if (!named.empty() && !named.contains(gradient.parameter)) continue;
            if (Result<void> done = take(group.optimizer, gradient, lr); !done)
                return Error{"parameter " + gradient.parameter + ": " + done.error().message};
        }
        return {};
    }

    Result<void> finish() {
        if (end_.scaled && end_.updates && !taken_.empty()) unscale();
        if (end_.clip_norm && !taken_.empty())
            if (Result<void> clipped = clip(*end_.clip_norm); !clipped) return clipped.error();
        if (end_.updates)
            for (const Taken& taken : taken_) add_update(taken);
        std::set<TensorId> stay;
        for (int output : tape_.outputs)
            if (output != no_operand) stay.insert(tensor_of(output));
        for (const GradientOf& gradient : tape_.gradients)
            if (gradient.operand != no_operand) stay.insert(tensor_of(gradient.operand));
        for (const BufferUpdate& update : tape_.updates) stay.insert(update.contents);
        std::erase_if(graph_.results,
                      [&](TensorId result) { return used_.contains(result) && !stay.contains(result); });
        put_in_order();
        return {};
    }

  private:
    using AddedOps::overwrite;

    /// A gradient as the ops that were added for it so far leave it. `maker` is the op of the captured step
    /// behind which these ops are added.
    struct Given {
        int operand;
        OpId maker;
    };
    /// A gradient that ops at the end of the step consume.
    struct Taken {
        Optimizer optimizer;
        std::string name;
        Operand parameter;
        Given given;
        int lr;
        std::ptrdiff_t place;  ///< index among the step's gradients
    };

    int add_rate(double lr) {
        const std::string name = groups_++ == 0 ? "lr" : "lr." + std::to_string(groups_ - 1);
        const Operand number{.dtype = c10::ScalarType::Double, .on_host = !device_.device().is_cpu()};
        return add_state(name, number, lr);
    }

    Result<Operand> parameter(const std::string& name) {
        const auto found = std::find_if(
            tape_.bindings.begin(), tape_.bindings.end(),
            [&](const Binding& binding) { return binding.is_parameter && binding.name == name; });
        if (found == tape_.bindings.end()) return Error{"the step does not know it"};
        const Operand& operand = found->operand;
        if (!c10::isFloatingType(operand.dtype))
            return Error{std::string("fused optimizers do not take the type ") +
                         c10::toString(operand.dtype)};
        if (!is_dense(operand)) return Error{"it has gaps in memory, or elements that are the same"};
        if (!updated_.insert(operand.tensor).second)
            return Error{"it shares memory with another one that the optimizer updates"};
        for (const TapeOp& op : tape_.ops)
            for (const Overwrite& overwrite : op.overwrites)
                if (overwrite.before == operand.tensor) return Error{"the model writes to it"};
        return operand;
    }

    Result<void> take(const Optimizer& optimizer, GradientOf& gradient, int lr) {
        const Result<Operand> parameter = this->parameter(gradient.parameter);
        if (!parameter) return parameter.error();
        Result<Given> given = laid_as(*parameter, gradient);
        if (!given) return given.error();
        if (end_.sums) given = add_sum(gradient.parameter, *parameter, *given);
        used_.insert(tensor_of(gradient.operand));
        gradient.operand = no_operand;
        taken_.push_back(
            {optimizer, gradient.parameter, *parameter, *given, lr, &gradient - tape_.gradients.data()});
        return {};
    }

    /// Adds an op that adds the gradient to the sum over earlier backwards. Returns the sum.
    Given add_sum(const std::string& parameter, const Operand& like, const Given& given) {
        const int sum = add_state(parameter + ".grad", like, -0.0);
        Added added = op_of("aten::add_", "Tensor", module_of(parameter),
                            {tensor_argument(sum), tensor_argument(given.operand), value_argument(1)}, {});
        added.op.mutates.push_back(tensor_of(sum));
        added.op.recomputable = false;
        added.tape.overwrites.push_back({tensor_of(sum), TensorId()});
        behind(given.maker).push_back(std::move(added));
        return {sum, given.maker};
    }

    /// Adds the ops of torch.amp.GradScaler.unscale_, one gradient at a time.
    void unscale() {
        const Operand number{.dtype = c10::ScalarType::Float};
        const int inverse = add_state("inverse_scale", number, 1);
        std::vector<int> found;
        const OpId last(graph_.ops.size() - 1);
        for (Taken& taken : taken_) {
            const OpId maker = taken.given.maker;
            const int zero = add_tensor("finite:" + taken.name, number, TensorKind::gradient);
            behind(maker).push_back(op_of("aten::zeros_like", "", module_of(taken.name),
                                          {tensor_argument(inverse), value_argument({}), value_argument({}),
                                           value_argument({}), value_argument({}), value_argument({})},
                                          {zero}));
            found.push_back(add_tensor("found_inf:" + taken.name, number, TensorKind::gradient));
            Added added = op_of(
                "aten::_amp_foreach_non_finite_check_and_unscale_", "", module_of(taken.name),
                {tensors_argument({taken.given.operand}), tensor_argument(zero), tensor_argument(inverse)},
                {});
            overwrite(taken, "unscaled:", added);
            overwrite(zero, found.back(), added);
            behind(maker).push_back(std::move(added));
        }
        const auto count = static_cast<std::int64_t>(found.size());
        const int all =
            add_number("found_inf:stack", "aten::stack", "", {tensors_argument(found), value_argument(0)},
                       {.dtype = number.dtype, .sizes = {count}, .strides = {1}});
        found_inf_ = add_number(
            "found_inf", "aten::amax", "",
            {tensor_argument(all), value_argument(c10::List<std::int64_t>()), value_argument(false)}, number);
        tell("found_inf", found_inf_, number, last);
        if (!end_.clip_norm) scale_ = add_state("scale", number, 1);
    }

    /// Lets the op `added` write over the gradient. The result of the op is the gradient from here on.
    void overwrite(Taken& taken, const char* prefix, Added& added) {
        const int before = taken.given.operand;
        taken.given.operand = add_tensor(prefix + taken.name, tape_.operands[before], TensorKind::gradient);
        overwrite(before, taken.given.operand, added);
    }

    /// Adds the ops of torch.nn.utils.clip_grad_norm_, one gradient at a time. The total norm is the norm of
    /// the gradients' norms, in the order of the module's parameters.
    Result<void> clip(double most) {
        std::sort(taken_.begin(), taken_.end(),
                  [](const Taken& a, const Taken& b) { return a.place < b.place; });
        std::vector<int> norms;
        const c10::ScalarType type = taken_.front().parameter.dtype;
        for (const Taken& taken : taken_) {
            if (taken.parameter.dtype != type)
                return Error{"parameter " + taken.name +
                             ": its gradient has another type than others, which are clipped with it"};
            norms.push_back(add_tensor("norm:" + taken.name, Operand{.dtype = type}, TensorKind::gradient));
            behind(taken.given.maker)
                .push_back(
                    op_of("aten::_foreach_norm", "Scalar", module_of(taken.name),
                          {tensors_argument({taken.given.operand}), value_argument(2.0), value_argument({})},
                          {norms.back()}));
        }
        const OpId last(graph_.ops.size() - 1);
        const Operand number{.dtype = type};
        const auto count = static_cast<std::int64_t>(norms.size());
        const int all =
            add_number("norm:stack", "aten::stack", "", {tensors_argument(norms), value_argument(0)},
                       {.dtype = type, .sizes = {count}, .strides = {1}});
        const int norm = add_number("norm:linalg_vector_norm", "aten::linalg_vector_norm", "",
                                    {tensor_argument(all), value_argument(2.0), value_argument({}),
                                     value_argument(false), value_argument({})},
                                    number);
        const int above =
            add_number("norm:add", "aten::add", "Scalar",
                       {tensor_argument(norm), value_argument(1e-6), value_argument(1)}, number);
        const int inverse =
            add_number("norm:reciprocal", "aten::reciprocal", "", {tensor_argument(above)}, number);
        const int ratio = add_number("norm:mul", "aten::mul", "Scalar",
                                     {tensor_argument(inverse), value_argument(most)}, number);
        const int factor =
            add_number("norm:clamp", "aten::clamp", "",
                       {tensor_argument(ratio), value_argument({}), value_argument(1.0)}, number);
        tell("norm", norm, number, last);
        for (Taken& taken : taken_) {
            Added added = op_of("aten::_foreach_mul_", "Tensor", module_of(taken.name),
                                {tensors_argument({taken.given.operand}), tensor_argument(factor)}, {});
            overwrite(taken, "clipped:", added);
            behind(last).push_back(std::move(added));
            taken.given.maker = last;
        }
        return {};
    }

    void add_update(const Taken& taken) {
        const Optimizer& optimizer = taken.optimizer;
        Added added{.op = {.name = optimizer.op(),
                           .phase = Phase::optimizer,
                           .module = module_of(taken.name),
                           .recomputable = false},
                    .tape = {.name = optimizer.op(), .overload = Optimizer::overload, .skips = found_inf_}};
        std::map<std::string, int> lists{{"self", add_operand(taken.parameter)},
                                         {"grads", taken.given.operand}};
        const std::map<std::string, int> numbers{
            {"lr", taken.lr}, {"grad_scale", scale_}, {"found_inf", found_inf_}};
        added.op.mutates.push_back(taken.parameter.tensor);
        for (const OptimizerState& state : optimizer.states()) {
            const int kept = add_state(taken.name + "." + state.name,
                                       state.counts_steps ? Operand{} : taken.parameter, state.initial);
            lists[state.argument] = kept;
            if (state.counts_steps) added.tape.counters.push_back(kept);
            added.op.mutates.push_back(tensor_of(kept));
        }
        for (TensorId written : added.op.mutates) added.tape.overwrites.push_back({written, TensorId()});
        fill_arguments(optimizer, lists, numbers, added.tape);

        const OpId maker = found_inf_ == no_operand ? taken.given.maker : OpId(graph_.ops.size() - 1);
        const OpId after = last_before(taken.parameter, maker, added.op.inputs);
        added.op.inputs.insert(added.op.inputs.end(), added.op.mutates.begin(), added.op.mutates.end());
        added.op.inputs.push_back(tensor_of(taken.given.operand));
        for (const auto& [argument, operand] : numbers)
            if (operand != no_operand) added.op.inputs.push_back(tensor_of(operand));
        std::sort(added.op.inputs.begin(), added.op.inputs.end());
        behind(after).push_back(std::move(added));
    }

    static void fill_arguments(const Optimizer& optimizer, const std::map<std::string, int>& lists,
                               const std::map<std::string, int>& numbers, TapeOp& op) {
        const auto schema =
            c10::Dispatcher::singleton().findSchemaOrThrow(op.name.c_str(), op.overload.c_str()).schema();
        for (const c10::Argument& argument : schema.arguments()) {
            const auto list = lists.find(argument.name());
            const auto number = numbers.find(argument.name());
            if (number != numbers.end() && number->second != no_operand)
                op.arguments.push_back(tensor_argument(number->second));
            else if (list != lists.end())
                op.arguments.push_back({Argument::Kind::tensors, {}, {list->second}});
            else if (argument.type()->kind() == c10::TypeKind::ListType)
                op.arguments.push_back({Argument::Kind::tensors, {}, {}});
            else
                op.arguments.push_back({Argument::Kind::value, optimizer.value_of(argument.name()), {}});
        }
    }

    /// Returns the gradient if it has the strides of the parameter. Otherwise adds an op that copies it to
    /// these strides, and returns the copy.
    Result<Given> laid_as(const Operand& parameter, const GradientOf& gradient) {
        const Operand made = tape_.operands[gradient.operand];
        const OpId maker =
            made_by_[made.tensor].valid() ? made_by_[made.tensor] : OpId(graph_.ops.size() - 1);
        if (lies_as(made, parameter.strides) && !made.conjugated && !made.negated)
            return Given{gradient.operand, maker};
        const auto format = format_of(parameter);
        if (!format) return Error{"its gradient lies in memory in another way, and as no copy does"};
        const int copy = add_tensor("grad:" + gradient.parameter, parameter, TensorKind::gradient);
        behind(maker).push_back(
            {.op = {.name = "aten::clone",
                    .inputs = {made.tensor},
                    .outputs = {tensor_of(copy)},
                    .phase = Phase::backward,
                    .module = module_of(gradient.parameter)},
             .tape = {.name = "aten::clone",
                      .arguments = {{Argument::Kind::tensor, {}, {gradient.operand}},
                                    {Argument::Kind::value, static_cast<std::int64_t>(*format), {}}},
                      .returns = {tensor_of(copy)}}});
        return Given{copy, maker};
    }

    /// Returns the first op of the graph behind which the update can run. Some ops read the parameter but are
    /// not needed for the gradient. Each of these ops gets an output without bytes, and the update reads this
    /// output. So every schedule runs these ops before the update.
    OpId last_before(const Operand& parameter, OpId maker, std::vector<TensorId>& inputs) {
        OpId last = maker;
        const std::vector<std::uint8_t> leads = leading_to(maker);
        for (OpId reader : readers_[parameter.tensor]) {
            last = std::max(last, reader);
            if (!leads[reader.index()]) inputs.push_back(end_of(reader));
        }
        return last;
    }

    const StepEnd end_;
    std::vector<Taken> taken_;
    std::map<TensorId, std::vector<OpId>> readers_;
    std::set<TensorId> updated_, used_;
    int groups_ = 0;
    int found_inf_ = no_operand, scale_ = no_operand;  ///< operands; set only for a scaled loss
};

}  // namespace

Result<void> add_optimizer(CapturedStep& step, const std::vector<OptimizerGroup>& groups,
                           const DeviceRuntime& device, const StepEnd& end) {
    Updates updates(step, device, end);
    for (const OptimizerGroup& group : groups)
        if (Result<void> added = updates.add(group); !added) return added.error();
    if (Result<void> finished = updates.finish(); !finished) return finished.error();
    if (groups.size() == 1 && end.updates) step.tape.optimizer = groups.front().optimizer;
    return {};
}

Result<void> change_numbers(Tape& tape, const std::vector<OptimizerGroup>& groups) {
    std::map<std::string, const Optimizer*> optimizer_of;
    for (const OptimizerGroup& group : groups)
        for (const std::string& parameter : group.parameters)
            optimizer_of.emplace(parameter, &group.optimizer);
    std::map<TensorId, std::string> name_of;
    for (const Binding& binding : tape.bindings)
        if (binding.is_parameter) name_of.emplace(binding.operand.tensor, binding.name);
    for (TapeOp& op : tape.ops) {
        if (op.overload != Optimizer::overload || !op.name.starts_with("aten::_fused_")) continue;
        const std::string& name = name_of.at(tape.operands[op.arguments.front().operands.front()].tensor);
        const auto found = optimizer_of.find(name);
        if (found == optimizer_of.end() || found->second->op() != op.name)
            return Error{"parameter " + name + ": another optimizer updates it than the plan has"};
        const auto& schema =
            c10::Dispatcher::singleton().findSchemaOrThrow(op.name.c_str(), op.overload.c_str()).schema();
        for (std::size_t i = 0; i < op.arguments.size(); ++i)
            if (op.arguments[i].kind == Argument::Kind::value)
                op.arguments[i].value = found->second->value_of(schema.arguments()[i].name());
    }
    return {};
}

}  // namespace rematlas
