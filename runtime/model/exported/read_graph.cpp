#include "runtime/model/exported/read_graph.h"

#include <c10/util/Exception.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "runtime/model/exported/enumerations.h"
#include "runtime/model/source_line.h"

namespace rematlas::exported {
namespace {

using nlohmann::json;

/// Returns the tag of an entry and the value under the tag. The entry must have exactly one tag.
std::pair<std::string, const json*> tagged(const json& entry) {
    TORCH_CHECK(entry.is_object() && entry.size() == 1, "damaged entry ", entry.dump().substr(0, 60));
    return {entry.begin().key(), &entry.begin().value()};
}

double number(const json& value) {
    if (!value.is_string()) return value.get<double>();
    const auto& text = value.get_ref<const std::string&>();
    const double infinity = std::numeric_limits<double>::infinity();
    if (text == "Infinity") return infinity;
    if (text == "-Infinity") return -infinity;
    TORCH_CHECK(text == "NaN", "damaged number '", text.substr(0, 20), "'");
    return std::numeric_limits<double>::quiet_NaN();
}

NodeInput constant(c10::IValue value) {
    return {.constant = std::move(value)};
}

/// Returns the last module of a stack "key,path,type;key,path,type". A type may contain commas; a key and a
/// path do not.
ModuleName innermost_module(const std::string& stack) {
    const std::string last = stack.substr(stack.rfind(';') + 1);
    const std::size_t first = last.find(',');
    if (first == last.npos) return {};
    const std::size_t second = last.find(',', first + 1);
    if (second == last.npos) return {last.substr(first + 1), {}};
    const std::string class_name = last.substr(second + 1);
    return {last.substr(first + 1, second - first - 1), class_name.substr(class_name.rfind('.') + 1)};
}

/// Returns "model.py:12" for `File "/somewhere/model.py", line 12, in forward`. Takes the innermost line
/// outside PyTorch, or the outermost line if all lines are PyTorch's.
std::string innermost_line(const std::string& trace) {
    std::string found;
    constexpr std::string_view opening = "File \"", middle = "\", line ";
    for (std::size_t at = trace.find(opening); at != trace.npos; at = trace.find(opening, at + 1)) {
        const std::size_t begin = at + opening.size(), end = trace.find(middle, begin);
        if (end == trace.npos) break;
        const std::string file = trace.substr(begin, end - begin);
        if (!found.empty() && is_of_torch(file)) continue;
        const std::size_t digits = end + middle.size();
        const std::size_t after = trace.find_first_not_of("0123456789", digits);
        found = line_text(file, trace.substr(digits, after - digits));
    }
    return found;
}

class GraphReader {
  public:
    GraphReader(const Move& move, int depth) : move_(move), depth_(depth) {
        TORCH_CHECK(depth < 50, "the program's parts are nested too deeply");
    }

    ReadForward read(const json& graph) {
        for (const json& input : graph.at("inputs")) read_.graph.inputs.push_back(input_of(input));
        for (const json& node : graph.at("nodes")) read_.graph.nodes.push_back(node_of(node));
        for (const json& output : graph.at("outputs")) read_.graph.outputs.push_back(argument_of(output));
        read_.graph.value_count = static_cast<int>(read_.values.size());
        note_last_uses();
        return std::move(read_);
    }

  private:
    int define(const std::string& name) {
        const int value = static_cast<int>(read_.values.size());
        TORCH_CHECK(read_.values.emplace(name, value).second, "two values are named '", name, "'");
        return value;
    }
    int find(const std::string& name) const {
        const auto found = read_.values.find(name);
        TORCH_CHECK(found != read_.values.end(), "no value before is named '", name, "'");
        return found->second;
    }
    NodeInput value(const json& tensor) const {
        return {.value = find(tensor.at("name").get_ref<const std::string&>())};
    }

    int input_of(const json& input) {
        const auto& [tag, entry] = tagged(input);
        if (tag == "as_tensor") return define(entry->at("name").get<std::string>());
        if ((tag == "as_sym_int" || tag == "as_sym_float" || tag == "as_sym_bool") &&
            entry->contains("as_name"))
            return define(entry->at("as_name").get<std::string>());
        TORCH_CHECK(tag != "as_custom_obj", "an input of the program is an object of a custom class");
        return no_value;
    }

    /// Reads a number of the file, or the name of a number that the program computes.
    NodeInput symbolic(const json& entry) const {
        const auto& [tag, inner] = tagged(entry);
        if (tag == "as_name") return {.value = find(inner->get<std::string>())};
        if (tag == "as_int") return constant(inner->get<std::int64_t>());
        if (tag == "as_bool") return constant(inner->get<bool>());
        TORCH_CHECK(tag == "as_float", "damaged number '", tag, "'");
        return constant(number(*inner));
    }

    template <class One>
    NodeInput list(const json& entries, One&& one) const {
        NodeInput result{.elements = std::vector<NodeInput>()};
        for (const json& entry : entries) result.elements->push_back(one(entry));
        return result;
    }

    c10::Device device(const json& entry) const {
        const c10::Device named(entry.at("type").get<std::string>());
        if (named.type() == move_.from) return move_.to;
        const json& index = entry.at("index");
        return index.is_null() ? named : c10::Device(named.type(), index.get<c10::DeviceIndex>());
    }

    NodeInput argument_of(const json& argument) {
        const auto& [tag, entry] = tagged(argument);
        if (tag == "as_none") return constant({});
        if (tag == "as_tensor") return value(*entry);
        if (tag == "as_int") return constant(entry->get<std::int64_t>());
        if (tag == "as_float") return constant(number(*entry));
        if (tag == "as_bool") return constant(entry->get<bool>());
        if (tag == "as_string") return constant(entry->get<std::string>());
        if (tag == "as_sym_int" || tag == "as_sym_float" || tag == "as_sym_bool") return symbolic(*entry);
        if (tag == "as_scalar_type")
            return constant(static_cast<std::int64_t>(scalar_type(entry->get<std::int64_t>())));
        if (tag == "as_layout")
            return constant(static_cast<std::int64_t>(layout(entry->get<std::int64_t>())));
        if (tag == "as_memory_format")
            return constant(static_cast<std::int64_t>(memory_format(entry->get<std::int64_t>())));
        if (tag == "as_device") return constant(device(*entry));
        if (tag == "as_complex")
            return constant(c10::complex<double>(number(entry->at("real")), number(entry->at("imag"))));
        if (tag == "as_optional_tensor") return optional_tensor(*entry);
        return list_of(tag, *entry);
    }

    NodeInput optional_tensor(const json& entry) const {
        const auto& [tag, inner] = tagged(entry);
        return tag == "as_none" ? constant({}) : value(*inner);
    }

    NodeInput list_of(const std::string& tag, const json& entries) const {
        if (tag == "as_tensors") return list(entries, [&](const json& entry) { return value(entry); });
        if (tag == "as_optional_tensors")
            return list(entries, [&](const json& entry) { return optional_tensor(entry); });
        if (tag == "as_ints")
            return list(entries, [](const json& entry) { return constant(entry.get<std::int64_t>()); });
        if (tag == "as_floats")
            return list(entries, [](const json& entry) { return constant(number(entry)); });
        if (tag == "as_bools")
            return list(entries, [](const json& entry) { return constant(entry.get<bool>()); });
        const auto numbers = [&](const json& entry) { return symbolic(entry); };
        if (tag == "as_sym_ints" || tag == "as_sym_floats" || tag == "as_sym_bools")
            return list(entries, numbers);
        TORCH_CHECK(false, "an argument of the form '", tag.substr(0, 40), "' is not known here");
    }

    Node node_of(const json& entry) {
        const auto target = entry.at("target").get<std::string>();
        Node node{.name = target.substr(0, 100)};
        try {
            read_call(node, target, entry.at("inputs"));
            for (const json& output : entry.at("outputs")) node.results.push_back(result_of(output));
        } catch (const c10::Error& error) {
            TORCH_CHECK(false, node.name, ": ", error.what_without_backtrace());
        }
        if (const auto metadata = entry.find("metadata"); metadata != entry.end()) {
            node.module = innermost_module(metadata->value("nn_module_stack", std::string()));
            node.line = innermost_line(metadata->value("stack_trace", std::string()));
        }
        return node;
    }

    std::vector<int> result_of(const json& output) {
        const auto& [tag, entry] = tagged(output);
        if (tag == "as_none") return {};
        if (tag == "as_tensor") return {define(entry->at("name").get<std::string>())};
        if (tag == "as_sym_int" || tag == "as_sym_float" || tag == "as_sym_bool")
            return {define(entry->at("as_name").get<std::string>())};
        TORCH_CHECK(tag == "as_tensors", "a result of the form '", tag.substr(0, 40), "' is not known here");
        std::vector<int> values;
        for (const json& tensor : *entry) values.push_back(define(tensor.at("name").get<std::string>()));
        return values;
    }

    void read_call(Node& node, const std::string& target, const json& inputs) {
        constexpr std::string_view ops = "torch.ops.", regions = "torch.ops.higher_order.";
        if (const NumberFunction* function = number_function(target)) {
            node.call = NumberCall{*function};
            for (const json& input : inputs) node.arguments.push_back(argument_of(input.at("arg")));
            TORCH_CHECK(node.arguments.size() == function->arity, "has ", node.arguments.size(),
                        " arguments");
        } else if (target == "torch.ops.aten._assert_scalar.default") {
            node.call = ConditionCall{argument(inputs, 1).at("as_string").get<std::string>()};
            node.arguments = {argument_of(argument(inputs, 0))};
        } else if (target == "torch.ops.aten._assert_tensor_metadata.default") {
            read_type_call(node, inputs);
        } else if (target.starts_with(regions)) {
            read_region(node, target.substr(regions.size()), inputs);
        } else {
            TORCH_CHECK(target.starts_with(ops), "this function is not known here");
            read_op_call(node, target.substr(ops.size()), inputs);
        }
    }

    static const json& argument(const json& inputs, std::size_t position) {
        return inputs.at(position).at("arg");
    }

    /// Reads a node that checks properties of a tensor. Keeps only the check of the dtype, because no other
    /// property depends on the program's inputs.
    void read_type_call(Node& node, const json& inputs) {
        node.arguments = {argument_of(argument(inputs, 0))};
        node.call = ConditionCall{};
        for (const json& input : inputs) {
            const json& given = input.at("arg");
            if (input.at("name") == "dtype" && given.contains("as_scalar_type"))
                node.call = TypeCall{scalar_type(given.at("as_scalar_type").get<std::int64_t>())};
        }
        if (std::holds_alternative<ConditionCall>(node.call)) node.arguments = {constant(true)};
    }

    void read_op_call(Node& node, const std::string& name, const json& inputs) {
        const std::size_t space = name.find('.'), overload = name.rfind('.');
        TORCH_CHECK(space != name.npos && overload > space, "this op has no overload name");
        const std::string base = name.substr(0, space) + "::" + name.substr(space + 1, overload - space - 1);
        const std::string last = name.substr(overload + 1);
        const auto op = c10::Dispatcher::singleton().findSchema({base, last == "default" ? "" : last});
        TORCH_CHECK(op.has_value(), "this op is none of PyTorch's own; its library is not loaded here");
        node.call = DispatchedCall{*op};

        std::unordered_map<std::string, const json*> given;
        for (const json& input : inputs) given.emplace(input.at("name").get<std::string>(), &input.at("arg"));
        for (const c10::Argument& wanted : op->schema().arguments()) {
            const auto found = given.find(wanted.name());
            if (found == given.end()) {
                TORCH_CHECK(wanted.default_value(), "its argument '", wanted.name(), "' is missing");
                node.arguments.push_back(constant(*wanted.default_value()));
            } else {
                node.arguments.push_back(argument_of(*found->second));
                given.erase(found);
            }
        }
        TORCH_CHECK(given.empty(), "its schema has no argument '", given.begin()->first, "'");
    }

    /// Reads a region: a part of the program with its own settings of autograd or autocast, a checkpointed
    /// part, or a subgraph that is invoked. A checkpoint does not change the values.
    void read_region(Node& node, const std::string& kind, const json& inputs) {
        RegionCall region;
        std::size_t next = 0;
        if (kind == "wrap_with_set_grad_enabled") {
            region.gradients = argument(inputs, next++).at("as_bool").get<bool>();
        } else if (kind == "wrap_with_autocast") {
            region.autocast = autocast_of(inputs);
            next = 4;
        } else {
            TORCH_CHECK(
                kind == "tag_activation_checkpoint" || kind == "invoke_subgraph",
                "a part of the program of this kind cannot be captured: its course may depend on values");
        }
        region.body = std::make_shared<ForwardGraph>(
            GraphReader(move_, depth_ + 1).read(argument(inputs, next++).at("as_graph").at("graph")).graph);
        if (kind == "invoke_subgraph") ++next;  // skips the subgraph's name
        for (; next < inputs.size(); ++next)
            if (inputs[next].at("name") == "") node.arguments.push_back(argument_of(argument(inputs, next)));
        TORCH_CHECK(node.arguments.size() == region.body->inputs.size(), "is given ", node.arguments.size(),
                    " values and takes ", region.body->inputs.size());
        node.call = std::move(region);
    }

    RegionCall::Autocast autocast_of(const json& inputs) const {
        const c10::Device named(argument(inputs, 0).at("as_string").get<std::string>());
        const json &dtype = argument(inputs, 1), &caches = argument(inputs, 3);
        RegionCall::Autocast result{
            .device = named.type() == move_.from ? move_.to.type() : named.type(),
            .dtype = std::nullopt,
            .enabled = argument(inputs, 2).at("as_bool").get<bool>(),
            .caches = caches.contains("as_bool") ? caches.at("as_bool").get<bool>() : true};
        if (dtype.contains("as_scalar_type"))
            result.dtype = scalar_type(dtype.at("as_scalar_type").get<std::int64_t>());
        return result;
    }

    /// Notes the last use of each value, so that a run holds only values that a later node reads.
    void note_last_uses() {
        std::unordered_set<int> used;
        const auto use = [&](auto&& self, const NodeInput& argument, std::vector<int>* last) -> void {
            if (argument.value != no_value && used.insert(argument.value).second && last)
                last->push_back(argument.value);
            if (!argument.elements) return;
            for (const NodeInput& element : *argument.elements) self(self, element, last);
        };
        for (const NodeInput& output : read_.graph.outputs) use(use, output, nullptr);
        for (auto node = read_.graph.nodes.rbegin(); node != read_.graph.nodes.rend(); ++node) {
            for (const auto& values : node->results)
                for (const int value : values)
                    if (used.insert(value).second) node->last_used.push_back(value);
            for (const NodeInput& argument : node->arguments) use(use, argument, &node->last_used);
        }
    }

    Move move_;
    int depth_;
    ReadForward read_;
};

}  // namespace

ReadForward read_graph(const json& graph, const Move& move) {
    return GraphReader(move, 0).read(graph);
}

}  // namespace rematlas::exported
