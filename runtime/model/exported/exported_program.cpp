#include "runtime/model/exported/exported_program.h"

#include <ATen/ScalarOps.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <sstream>

namespace rematlas::exported {
namespace {

using c10::IValue;
using c10::TypeKind;

template <class T, class Convert>
IValue list_of(const std::vector<IValue>& elements, Convert&& convert) {
    c10::List<T> list;
    list.reserve(elements.size());
    for (const IValue& element : elements) list.push_back(convert(element));
    return list;
}

IValue fit(IValue value, const c10::Type& type);

IValue fit_list(const std::vector<IValue>& given, const c10::Type& type) {
    std::vector<IValue> elements;
    for (const IValue& element : given) elements.push_back(fit(element, type));
    switch (type.kind()) {
        case TypeKind::TensorType:
            return list_of<at::Tensor>(elements, [](const IValue& v) { return v.toTensor(); });
        case TypeKind::OptionalType:
            TORCH_CHECK(type.cast<c10::OptionalType>()->getElementType()->kind() == TypeKind::TensorType,
                        "cannot be given a list of ", type.str());
            return list_of<std::optional<at::Tensor>>(elements, [](const IValue& v) {
                return v.isNone() ? std::nullopt : std::optional(v.toTensor());
            });
        case TypeKind::IntType:
        case TypeKind::SymIntType:
            return list_of<std::int64_t>(elements, [](const IValue& v) { return v.toInt(); });
        case TypeKind::FloatType:
            return list_of<double>(elements, [](const IValue& v) { return v.toDouble(); });
        case TypeKind::BoolType:
            return list_of<bool>(elements, [](const IValue& v) { return v.toBool(); });
        case TypeKind::NumberType:
            return list_of<at::Scalar>(elements, [](const IValue& v) { return v.toScalar(); });
        default:
            TORCH_CHECK(false, "cannot be given a list of ", type.str());
    }
}

/// Converts the value to the type that a kernel takes. Throws if the value's type is incompatible.
IValue fit(IValue value, const c10::Type& type) {
    const auto check = [&](bool is) {
        TORCH_CHECK(is, "expected an argument of type ", type.str(), ", got ", value.tagKind());
    };
    switch (type.kind()) {
        case TypeKind::OptionalType:
            return value.isNone() ? value
                                  : fit(std::move(value), *type.cast<c10::OptionalType>()->getElementType());
        case TypeKind::TensorType:
            // In `x * 2`, the 2 becomes a tensor that takes on the dtype of x, as in Python.
            if (value.isScalar()) return at::native::wrapped_scalar_tensor(value.toScalar());
            check(value.isTensor());
            return value;
        case TypeKind::IntType:
        case TypeKind::SymIntType:
            check(value.isInt());
            return value;
        case TypeKind::FloatType:
        case TypeKind::SymFloatType:
            check(value.isDouble() || value.isInt());
            return value.isInt() ? IValue(static_cast<double>(value.toInt())) : value;
        case TypeKind::BoolType:
        case TypeKind::SymBoolType:
            check(value.isBool());
            return value;
        case TypeKind::NumberType:
            check(value.isScalar());
            return value;
        case TypeKind::StringType:
            check(value.isString());
            return value;
        case TypeKind::DeviceObjType:
            check(value.isDevice());
            return value;
        default:
            TORCH_CHECK(false, "takes an argument of type ", type.str(), ", which an archive cannot give");
    }
}

/// Sets autocast as the region demands. The destructor restores the previous settings.
class AutocastRegion {
  public:
    explicit AutocastRegion(const RegionCall::Autocast& region)
        : device_(region.device),
          enabled_(at::autocast::is_autocast_enabled(device_)),
          dtype_(at::autocast::get_autocast_dtype(device_)),
          caches_(at::autocast::is_autocast_cache_enabled()) {
        at::autocast::set_autocast_enabled(device_, region.enabled);
        if (region.dtype) at::autocast::set_autocast_dtype(device_, *region.dtype);
        at::autocast::set_autocast_cache_enabled(region.caches);
        at::autocast::increment_nesting();
    }
    AutocastRegion(const AutocastRegion&) = delete;
    AutocastRegion& operator=(const AutocastRegion&) = delete;
    ~AutocastRegion() {
        if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
        at::autocast::set_autocast_enabled(device_, enabled_);
        at::autocast::set_autocast_dtype(device_, dtype_);
        at::autocast::set_autocast_cache_enabled(caches_);
    }

  private:
    c10::DeviceType device_;
    bool enabled_;
    c10::ScalarType dtype_;
    bool caches_;
};

/// Runs the forward pass of an exported program, op by op, as eager PyTorch would. Each value is freed after
/// the last node that reads it. While a node runs, `current` points to it; after the last node `current` is
/// null. Throws the exceptions of ops; `current` then still points to the node that failed.
class Run {
  public:
    Run(const ForwardGraph& graph, const Node*& current)
        : graph_(graph), current_(current), values_(static_cast<std::size_t>(graph.value_count)) {}

    /// Returns the values of the graph's outputs.
    std::vector<IValue> operator()(std::vector<IValue> inputs) {
        TORCH_CHECK(inputs.size() == graph_.inputs.size(), "takes ", graph_.inputs.size(), " values");
        for (std::size_t i = 0; i < inputs.size(); ++i)
            if (graph_.inputs[i] != no_value) at(graph_.inputs[i]) = std::move(inputs[i]);
        inputs.clear();
        for (const Node& node : graph_.nodes) {
            current_ = &node;
            keep(node, std::visit([&](const auto& call) { return run(node, call); }, node.call));
            for (const int value : node.last_used) at(value) = IValue();
        }
        current_ = nullptr;
        std::vector<IValue> outputs;
        for (const NodeInput& output : graph_.outputs) outputs.push_back(single(output));
        return outputs;
    }

  private:
    IValue& at(int value) { return values_[static_cast<std::size_t>(value)]; }

    IValue single(const NodeInput& argument) {
        TORCH_CHECK(!argument.elements, "is given a list where one value is expected");
        return argument.value == no_value ? argument.constant : at(argument.value);
    }
    std::vector<IValue> singles(const Node& node) {
        std::vector<IValue> result;
        for (const NodeInput& argument : node.arguments) result.push_back(single(argument));
        return result;
    }

    IValue wanted(const NodeInput& argument, const c10::Argument& parameter) {
        const c10::Type* type = parameter.type().get();
        const auto optional = type->cast<c10::OptionalType>();
        if (optional && argument.elements) type = optional->getElementType().get();
        const auto list = type->cast<c10::ListType>();
        if (!argument.elements) {
            const IValue value = single(argument);
            // If the value is a list already, it is the default of the schema and stays as it is.
            if (!list || value.isList()) return list ? value : fit(value, *type);
            if (value.isNone() && optional) return value;
            // `int[2] size` accepts one integer for both elements.
            return fit_list(std::vector<IValue>(static_cast<std::size_t>(parameter.N().value_or(1)), value),
                            *list->getElementType());
        }
        TORCH_CHECK(list, "expected an argument of type ", type->str(), ", got a list");
        std::vector<IValue> elements;
        for (const NodeInput& element : *argument.elements) elements.push_back(single(element));
        return fit_list(elements, *list->getElementType());
    }

    std::vector<IValue> run(const Node& node, const DispatchedCall& call) {
        const std::vector<c10::Argument>& parameters = call.op.schema().arguments();
        torch::jit::Stack stack;
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            try {
                stack.push_back(wanted(node.arguments[i], parameters[i]));
            } catch (const c10::Error& error) {
                TORCH_CHECK(false, node.name, ", argument '", parameters[i].name(),
                            "': ", error.what_without_backtrace());
            }
        }
        call.op.callBoxed(stack);
        return stack;
    }
    std::vector<IValue> run(const Node& node, const NumberCall& call) {
        return {call.function.compute(singles(node))};
    }
    std::vector<IValue> run(const Node& node, const RegionCall& call) {
        std::optional<at::AutoGradMode> gradients;
        if (call.gradients) gradients.emplace(*call.gradients);
        std::optional<AutocastRegion> autocast;
        if (call.autocast) autocast.emplace(*call.autocast);
        return Run(*call.body, current_)(singles(node));
    }
    std::vector<IValue> run(const Node& node, const ConditionCall& call) {
        const IValue value = single(node.arguments[0]);
        const bool holds = value.isBool() ? value.toBool() : value.isInt() && value.toInt() != 0;
        TORCH_CHECK(holds, "the program was exported on a condition that does not hold: ", call.message);
        return {};
    }
    std::vector<IValue> run(const Node& node, const TypeCall& call) {
        const IValue value = single(node.arguments[0]);
        TORCH_CHECK(value.isTensor() && value.toTensor().scalar_type() == call.dtype,
                    "the program was exported for a tensor of type ", call.dtype, " at ", node.line);
        return {};
    }

    /// Stores the results of a node. A result that is a list has one value for each element. A region returns
    /// the values of all its results in one list.
    void keep(const Node& node, std::vector<IValue> results) {
        const bool is_region = std::holds_alternative<RegionCall>(node.call);
        std::size_t next = 0;
        for (const std::vector<int>& values : node.results) {
            if (is_region) {
                for (const int value : values) at(value) = taken(node, results, next++);
            } else if (const IValue& result = taken(node, results, next++); result.isTensorList()) {
                const auto tensors = result.toTensorList();
                TORCH_CHECK(tensors.size() == values.size(), node.name, " gives ", tensors.size(),
                            " tensors, and the program was exported for ", values.size());
                for (std::size_t i = 0; i < values.size(); ++i) at(values[i]) = tensors.get(i);
            } else {
                TORCH_CHECK(values.size() <= 1, node.name, " gives one value where a list was exported");
                if (!values.empty()) at(values[0]) = result;
            }
        }
    }
    static const IValue& taken(const Node& node, const std::vector<IValue>& results, std::size_t position) {
        TORCH_CHECK(position < results.size(), node.name, " gives ", results.size(), " results");
        return results[position];
    }

    const ForwardGraph& graph_;
    const Node*& current_;
    std::vector<IValue> values_;
};

class NodePlaces final : public Places {
  public:
    explicit NodePlaces(const Node* const& current) : current_(current) {}
    ModuleName module() override { return current_ ? current_->module : ModuleName(); }
    std::string line() override { return current_ ? current_->line : std::string(); }

  private:
    const Node* const& current_;
};

std::string text(const IValue& value) {
    std::ostringstream stream;
    stream << value;
    return stream.str();
}

bool is_argument(const ExportedProgram::Input& input) {
    return !std::holds_alternative<at::Tensor>(input);
}

}  // namespace

std::unique_ptr<Places> ExportedProgram::places() const {
    return std::make_unique<NodePlaces>(current_);
}

std::vector<IValue> ExportedProgram::with_constants(std::vector<IValue> arguments) const {
    const auto expected = static_cast<std::size_t>(std::count_if(inputs.begin(), inputs.end(), is_argument));
    if (arguments.size() == expected) return arguments;
    std::size_t next = 0;
    std::vector<IValue> all;
    for (const Input& input : inputs) {
        if (const auto* constant = std::get_if<Constant>(&input)) {
            all.push_back(constant->value);
        } else if (std::holds_alternative<FromCaller>(input) && next < arguments.size()) {
            all.push_back(arguments[next++]);
        }
    }
    TORCH_CHECK(next == arguments.size() && all.size() == expected, "the program takes ", expected,
                expected == 1 ? " input, and " : " inputs, and ", arguments.size(), " are given");
    return all;
}

std::vector<IValue> ExportedProgram::bind(const std::vector<IValue>& arguments) const {
    std::map<std::string, std::int64_t> sizes;
    std::vector<IValue> values;
    std::size_t next = 0;
    for (const Input& input : inputs) {
        if (const auto* tensor = std::get_if<at::Tensor>(&input)) {
            values.push_back(*tensor);
            continue;
        }
        const std::size_t position = next++;
        const IValue& given = arguments[position];
        if (const auto* constant = std::get_if<Constant>(&input)) {
            TORCH_CHECK(given.tagKind() == constant->value.tagKind() && text(given) == text(constant->value),
                        "input ", position + 1, " is ", text(given), ", and the program was exported for ",
                        text(constant->value), " there; leave constant inputs out, or export again");
        } else if (const auto& expected = std::get<FromCaller>(input).expected) {
            TORCH_CHECK(given.isTensor(), "input ", position + 1, " is ", text(given),
                        " and must be a tensor");
            expected->check(given.toTensor(), position, named_sizes, sizes);
        } else {
            TORCH_CHECK(given.isScalar(), "input ", position + 1, " must be a number");
        }
        values.push_back(given);
    }
    next = 0;
    for (const Input& input : inputs) {
        if (std::holds_alternative<at::Tensor>(input)) continue;
        const std::size_t position = next++;
        const auto* from_caller = std::get_if<FromCaller>(&input);
        if (from_caller && from_caller->expected)
            from_caller->expected->check_derived(arguments[position].toTensor(), position, sizes);
    }
    return values;
}

std::vector<at::Tensor> ExportedProgram::forward(std::vector<IValue> arguments) {
    arguments = with_constants(std::move(arguments));
    const std::vector<IValue> outputs = Run(graph, current_)(bind(arguments));
    {
        at::NoGradGuard no_grad;
        for (const Mutation& mutation : mutations) {
            at::Tensor target =
                mutation.tensor.defined() ? mutation.tensor : arguments[mutation.argument].toTensor();
            target.copy_(outputs[mutation.output].toTensor());
        }
    }
    std::vector<at::Tensor> tensors;
    for (const std::size_t result : results)
        if (outputs[result].isTensor()) tensors.push_back(outputs[result].toTensor());
    return tensors;
}

}  // namespace rematlas::exported
