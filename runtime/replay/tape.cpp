#include "runtime/replay/tape.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/base/base64.h"

namespace rematlas {
namespace {

using nlohmann::json;

constexpr int tape_version = 1;

/// Writes infinities and NaN as objects, because JSON has no such numbers.
json number(double value) {
    if (std::isfinite(value)) return value;
    return {{"float", std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf"}};
}

json value_to_json(const c10::IValue& value) {
    if (value.isNone()) return nullptr;
    if (value.isBool()) return value.toBool();
    if (value.isInt()) return value.toInt();
    if (value.isDouble()) return number(value.toDouble());
    if (value.isString()) return value.toStringRef();
    if (value.isDevice()) return {{"device", value.toDevice().str()}};
    if (value.isComplexDouble()) {
        const auto complex = value.toComplexDouble();
        return {{"complex", {complex.real(), complex.imag()}}};
    }
    if (value.isIntList()) return {{"ints", value.toIntVector()}};
    json items = json::array();
    if (value.isDoubleList()) {
        for (double item : value.toDoubleVector()) items.push_back(number(item));
        return {{"floats", std::move(items)}};
    }
    if (value.isBoolList()) {
        for (bool item : value.toBoolList()) items.push_back(item);
        return {{"bools", std::move(items)}};
    }
    throw std::invalid_argument("an argument of type " + value.tagKind() + " cannot be written to a file");
}

double double_from(const json& item) {
    if (!item.is_object()) return item.get<double>();
    return std::stod(item.at("float").get<std::string>());
}

c10::IValue value_from_json(const json& item) {
    if (item.is_null()) return {};
    if (item.is_boolean()) return item.get<bool>();
    if (item.is_number_integer()) return item.get<std::int64_t>();
    if (item.is_number_float()) return item.get<double>();
    if (item.is_string()) return item.get<std::string>();
    if (item.contains("float")) return double_from(item);
    if (item.contains("device")) return c10::Device(item["device"].get<std::string>());
    if (item.contains("complex"))
        return c10::complex<double>(item["complex"].at(0).get<double>(), item["complex"].at(1).get<double>());
    if (item.contains("ints")) return item["ints"].get<std::vector<std::int64_t>>();
    if (item.contains("floats")) {
        c10::List<double> list;
        for (const json& element : item["floats"]) list.push_back(double_from(element));
        return list;
    }
    if (item.contains("bools")) {
        c10::List<bool> list;
        for (const json& element : item["bools"]) list.push_back(element.get<bool>());
        return list;
    }
    throw std::invalid_argument("unknown kind of argument");
}

json argument_to_json(const Argument& argument) {
    switch (argument.kind) {
        case Argument::Kind::value:
            return value_to_json(argument.value);
        case Argument::Kind::tensor:
            return {{"tensor", argument.operands.front()}};
        case Argument::Kind::tensors:
            return {{"tensors", argument.operands}};
        case Argument::Kind::optional_tensors:
            return {{"optional_tensors", argument.operands}};
    }
    return nullptr;
}

Argument argument_from_json(const json& item) {
    if (item.is_object() && item.contains("tensor"))
        return {Argument::Kind::tensor, {}, {item["tensor"].get<int>()}};
    if (item.is_object() && item.contains("tensors"))
        return {Argument::Kind::tensors, {}, item["tensors"].get<std::vector<int>>()};
    if (item.is_object() && item.contains("optional_tensors")) {
        return {Argument::Kind::optional_tensors, {}, item["optional_tensors"].get<std::vector<int>>()};
    }
    return {Argument::Kind::value, value_from_json(item), {}};
}

/// Returns [tensor, type, sizes, strides, offset], and then flags if there are any: 1 for a wrapped number, 2
/// for host memory, 4 for a lazy conjugate, 8 for a lazy negative.
json operand_to_json(const Operand& operand) {
    const std::string_view name = dtype_name(operand.dtype);
    if (name.empty())
        throw std::invalid_argument(std::string("tensors of type ") + c10::toString(operand.dtype) +
                                    " cannot be replayed");
    json item = {operand.tensor.value, name, operand.sizes, operand.strides, operand.offset};
    const int flags =
        operand.wrapped_number + 2 * operand.on_host + 4 * operand.conjugated + 8 * operand.negated;
    if (flags) item.push_back(flags);
    return item;
}

Operand operand_from_json(const json& item) {
    const auto dtype = dtype_from(item.at(1).get<std::string>());
    if (!dtype) throw std::invalid_argument("unknown type " + item.at(1).dump());
    const int flags = item.size() > 5 ? item.at(5).get<int>() : 0;
    Operand operand{.tensor = TensorId(item.at(0).get<std::int32_t>()),
                    .dtype = *dtype,
                    .sizes = item.at(2).get<std::vector<std::int64_t>>(),
                    .strides = item.at(3).get<std::vector<std::int64_t>>(),
                    .offset = item.at(4).get<std::int64_t>(),
                    .wrapped_number = (flags & 1) != 0,
                    .conjugated = (flags & 4) != 0,
                    .negated = (flags & 8) != 0,
                    .on_host = (flags & 2) != 0};
    if (flags < 0 || flags > 15) throw std::invalid_argument("operand with unknown flags");
    if (operand.conjugated && !c10::isComplexType(operand.dtype))
        throw std::invalid_argument("operand that is a conjugate and not complex");
    if (operand.sizes.size() != operand.strides.size() || operand.offset < 0)
        throw std::invalid_argument("operand with a broken geometry");
    return operand;
}

json op_to_json(const TapeOp& op) {
    json item = {{"op", op.name}};
    if (!op.overload.empty()) item["overload"] = op.overload;
    json& arguments = item["arguments"] = json::array();
    for (const Argument& argument : op.arguments) arguments.push_back(argument_to_json(argument));
    json& returns = item["returns"] = json::array();
    for (TensorId tensor : op.returns) returns.push_back(tensor.value);
    if (op.grad_mode) item["grad_mode"] = true;
    if (!op.counters.empty()) item["counters"] = op.counters;
    if (op.skips != no_operand) item["skips"] = op.skips;
    if (op.draws) item["draws"] = *op.draws;
    if (op.guard) item["guard"] = {{"value", value_to_json(op.guard->value)}, {"line", op.guard->line}};
    if (!op.result_sizes.empty()) item["result_sizes"] = op.result_sizes;
    if (!op.overwrites.empty()) {
        json& overwrites = item["overwrites"] = json::array();
        for (const Overwrite& overwrite : op.overwrites)
            overwrites.push_back({overwrite.before.value, overwrite.after.value});
    }
    return item;
}

TapeOp op_from_json(const json& item) {
    TapeOp op{.name = item.at("op").get<std::string>(),
              .overload = item.value("overload", ""),
              .grad_mode = item.value("grad_mode", false)};
    for (const json& argument : item.at("arguments")) op.arguments.push_back(argument_from_json(argument));
    for (const json& tensor : item.at("returns")) op.returns.emplace_back(tensor.get<std::int32_t>());
    if (item.contains("counters")) op.counters = item["counters"].get<std::vector<int>>();
    op.skips = item.value("skips", no_operand);
    if (item.contains("draws")) op.draws = item["draws"].get<std::int64_t>();
    if (item.contains("guard"))
        op.guard =
            Guard{value_from_json(item["guard"].at("value")), item["guard"].at("line").get<std::string>()};
    if (item.contains("result_sizes"))
        op.result_sizes = item["result_sizes"].get<std::vector<std::vector<std::int64_t>>>();
    if (op.draws && *op.draws < -most_host_draws) throw std::invalid_argument("too many draws");
    if (item.contains("overwrites")) {
        for (const json& pair : item["overwrites"]) {
            op.overwrites.push_back(
                {TensorId(pair.at(0).get<std::int32_t>()), TensorId(pair.at(1).get<std::int32_t>())});
        }
    }
    return op;
}

json head_to_json(const Tape& tape) {
    json item = {{"version", tape_version}, {"loss", to_string(tape.loss)}, {"threads", tape.threads}};
    item["bindings"] = item["inputs"] = item["constants"] = item["gradients"] = item["updates"] =
        json::array();
    for (const Binding& binding : tape.bindings) {
        item["bindings"].push_back({{"name", binding.name},
                                    {"parameter", binding.is_parameter},
                                    {"operand", operand_to_json(binding.operand)}});
    }
    if (!tape.unused_outputs.empty()) item["unused_outputs"] = tape.unused_outputs;
    if (!tape.packing.empty()) item["packing"] = tape.packing;
    for (const auto& [spec, operand] : tape.inputs)
        item["inputs"].push_back({{"spec", to_string(spec)}, {"operand", operand}});
    for (const FixedInput& input : tape.fixed)
        item["fixed"].push_back({{"position", input.position}, {"spec", to_string(input.spec)}});
    for (const auto& [tensor, bytes] : tape.constants)
        item["constants"].push_back({{"tensor", tensor.value}, {"base64", base64_encode(bytes)}});
    item["outputs"] = tape.outputs;
    for (const GradientOf& gradient : tape.gradients) {
        item["gradients"].push_back({{"parameter", gradient.parameter}, {"operand", gradient.operand}});
        if (gradient.input >= 0) item["gradients"].back()["input"] = gradient.input;
    }
    for (const BufferUpdate& update : tape.updates)
        item["updates"].push_back(
            update.of_forward.valid()
                ? json{update.buffer.value, update.contents.value, update.of_forward.value}
                : json{update.buffer.value, update.contents.value});
    if (tape.optimizer) item["optimizer"] = to_json(*tape.optimizer);
    for (const StateTensor& state : tape.states)
        item["states"].push_back({{"name", state.name},
                                  {"operand", operand_to_json(state.operand)},
                                  {"initial", number(state.initial)}});
    return item;
}

void head_from_json(const json& item, Tape& tape) {
    if (item.at("version").get<int>() != tape_version)
        throw std::invalid_argument("version " + item["version"].dump() + " is not known");
    const auto loss = loss_from(item.at("loss").get<std::string>());
    if (!loss) throw std::invalid_argument("unknown loss " + item["loss"].dump());
    tape.loss = *loss;
    tape.threads = item.at("threads").get<int>();
    if (item.contains("unused_outputs")) tape.unused_outputs = item["unused_outputs"].get<std::vector<int>>();
    tape.packing = item.value("packing", "");
    for (const json& binding : item.at("bindings")) {
        tape.bindings.push_back({binding.at("name").get<std::string>(), binding.at("parameter").get<bool>(),
                                 operand_from_json(binding.at("operand"))});
    }
    for (const json& input : item.at("inputs")) {
        auto spec = parse_input_spec(input.at("spec").get<std::string>());
        if (!spec) throw std::invalid_argument(spec.error().message);
        tape.inputs.emplace_back(spec.take(), input.at("operand").get<int>());
    }
    for (const json& input : item.value("fixed", json::array())) {
        auto spec = parse_input_spec(input.at("spec").get<std::string>());
        if (!spec || !spec->fixed) throw std::invalid_argument("fixed input " + input["spec"].dump());
        tape.fixed.push_back({input.at("position").get<std::size_t>(), spec.take()});
    }
    for (const json& constant : item.at("constants")) {
        auto bytes = base64_decode(constant.at("base64").get_ref<const std::string&>());
        if (!bytes) throw std::invalid_argument("constant that is not base64");
        tape.constants.emplace_back(TensorId(constant.at("tensor").get<std::int32_t>()), std::move(*bytes));
    }
    tape.outputs = item.at("outputs").get<std::vector<int>>();
    for (const json& gradient : item.at("gradients")) {
        tape.gradients.push_back({gradient.at("parameter").get<std::string>(),
                                  gradient.at("operand").get<int>(), gradient.value("input", -1)});
    }
    for (const json& update : item.at("updates")) {
        tape.updates.push_back({TensorId(update.at(0).get<std::int32_t>()),
                                TensorId(update.at(1).get<std::int32_t>()),
                                update.size() > 2 ? TensorId(update.at(2).get<std::int32_t>()) : TensorId()});
    }
    if (item.contains("optimizer")) {
        Result<Optimizer> optimizer = optimizer_from_json(item["optimizer"]);
        if (!optimizer) throw std::invalid_argument("optimizer: " + optimizer.error().message);
        tape.optimizer = *optimizer;
    }
    for (const json& state : item.value("states", json::array()))
        tape.states.push_back({state.at("name").get<std::string>(), operand_from_json(state.at("operand")),
                               double_from(state.at("initial"))});
}

/// Checks that every index is in range, because the executor relies on it.
void check_indices(const Tape& tape, std::size_t tensors, std::size_t ops) {
    const auto tensor = [&](TensorId id, bool may_be_none) {
        if (!(may_be_none && id.value == -1) && (!id.valid() || id.index() >= tensors))
            throw std::invalid_argument("tensor id out of range");
    };
    const auto operand = [&](int index) {
        if (index < no_operand || index >= static_cast<int>(tape.operands.size()))
            throw std::invalid_argument("operand out of range");
    };
    if (tape.ops.size() != ops) throw std::invalid_argument("a different number of ops than the graph");
    if (tape.threads < 1 || tape.threads > 1024) throw std::invalid_argument("threads out of range");
    for (const Operand& item : tape.operands) tensor(item.tensor, true);
    for (const Binding& item : tape.bindings) tensor(item.operand.tensor, false);
    for (const StateTensor& item : tape.states) tensor(item.operand.tensor, false);
    const auto result = [&](int index, bool may_be_none) {
        operand(index);
        if (index == no_operand ? !may_be_none : !tape.operands[index].tensor.valid())
            throw std::invalid_argument("operand without a tensor");
    };
    for (const auto& item : tape.inputs) result(item.second, false);
    for (const auto& item : tape.constants) tensor(item.first, false);
    for (int index : tape.outputs) result(index, true);
    for (int place : tape.unused_outputs)
        if (place < 0 || place >= static_cast<int>(tape.outputs.size()))
            throw std::invalid_argument("unused output out of range");
    for (const GradientOf& item : tape.gradients) {
        result(item.operand, true);
        if (item.input < -1 || item.input >= static_cast<int>(tape.inputs.size()))
            throw std::invalid_argument("gradient of an input out of range");
    }
    for (const BufferUpdate& item : tape.updates)
        tensor(item.buffer, false), tensor(item.contents, false), tensor(item.of_forward, true);
    for (const TapeOp& op : tape.ops) {
        for (const Argument& argument : op.arguments)
            for (int index : argument.operands) operand(index);
        for (int index : op.counters) result(index, false);
        result(op.skips, true);
        for (TensorId id : op.returns) tensor(id, true);
        for (const Overwrite& overwrite : op.overwrites)
            tensor(overwrite.before, false), tensor(overwrite.after, true);
    }
}

}  // namespace

bool lies_as(const Operand& operand, c10::IntArrayRef strides) {
    for (std::size_t axis = 0; axis < operand.sizes.size(); ++axis)
        if (operand.sizes[axis] > 1 && operand.strides[axis] != strides[axis]) return false;
    return true;
}

json to_json(const Tape& tape) {
    json item = head_to_json(tape);
    item["operands"] = item["ops"] = json::array();
    for (const Operand& operand : tape.operands) item["operands"].push_back(operand_to_json(operand));
    for (const TapeOp& op : tape.ops) item["ops"].push_back(op_to_json(op));
    return item;
}

Result<Tape> tape_from_json(const json& item, std::string_view name, std::size_t tensors, std::size_t ops) {
    try {
        Tape tape;
        head_from_json(item, tape);
        for (const json& operand : item.at("operands")) tape.operands.push_back(operand_from_json(operand));
        for (const json& op : item.at("ops")) tape.ops.push_back(op_from_json(op));
        check_indices(tape, tensors, ops);
        return tape;
    } catch (const std::exception& error) {
        return Error{std::string(name) + ": replay: " + error.what()};
    }
}

Result<Tape> tape_of(const Graph& graph) {
    if (!graph.replay && graph.provenance && graph.provenance->value("captured", "") == "from shapes")
        return Error{graph.name + ": captured from shapes for " + graph.provenance->value("device", "") +
                     ", for planning only: kernels and workspaces are modelled; capture on the device, with "
                     "--from-shapes where the step does not fit, and solve again"};
    if (!graph.replay)
        return Error{graph.name + ": the graph holds nothing to replay; it was not captured from a model"};
    return tape_from_json(*graph.replay, graph.name, graph.tensors.size(), graph.ops.size());
}

}  // namespace rematlas
