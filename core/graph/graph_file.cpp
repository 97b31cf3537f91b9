#include "core/graph/graph_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/files.h"
#include "core/base/json_fields.h"

namespace rematlas {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostAlignment = std::int64_t{1} << 20;
constexpr std::int64_t kLeastSegment = std::int64_t{2} << 20, kMostSegment = std::int64_t{1} << 40;
constexpr std::int64_t kLargestCount = std::int64_t{1} << 28;
constexpr std::size_t kMostDimensions = 64;  // torch's own limit

template <class IdType>
IdType id_of(const Fields& place, const json& value, const char* key, std::size_t count) {
    const std::int64_t id = place.whole(value, key);
    if (id < 0 || id >= static_cast<std::int64_t>(count)) {
        place.fail(std::string(key) + " names " + std::to_string(id) + ", which does not exist");
    }
    return IdType(id);
}

template <class IdType>
std::vector<IdType> ids_of(const Fields& place, const char* key, std::size_t count) {
    std::vector<IdType> ids;
    const json& list = place.array(key);
    ids.reserve(list.size());
    for (const json& value : list) ids.push_back(id_of<IdType>(place, value, key, count));
    return ids;
}

template <class IdType>
std::vector<IdType> ids_if_any(const Fields& place, const char* key, std::size_t count) {
    return place.has(key) ? ids_of<IdType>(place, key, count) : std::vector<IdType>{};
}

/// Removes repeated ids, because an op that reads a tensor twice needs it only once.
void drop_repeats(std::vector<TensorId>& ids) {
    std::vector<TensorId> kept;
    for (TensorId id : ids) {
        if (std::find(kept.begin(), kept.end(), id) == kept.end()) kept.push_back(id);
    }
    ids = std::move(kept);
}

std::vector<std::int64_t> sizes_of(const Fields& tensor, const char* key) {
    const json& list = tensor.array(key);
    if (list.size() > kMostDimensions) tensor.fail(std::string(key) + " has too many dimensions");
    std::vector<std::int64_t> sizes;
    for (const json& value : list) sizes.push_back(tensor.whole(value, key));
    return sizes;
}

std::optional<TensorLayout> layout_of(const Fields& tensor) {
    if (!tensor.has("dtype")) return std::nullopt;
    TensorLayout layout{.dtype = tensor.text("dtype"), .shape = sizes_of(tensor, "shape")};
    if (std::any_of(layout.shape.begin(), layout.shape.end(), [](std::int64_t size) { return size < 0; }))
        tensor.fail("shape has a negative size");
    if (!tensor.has("strides")) return layout;
    layout.strides = sizes_of(tensor, "strides");
    if (layout.strides.size() != layout.shape.size())
        tensor.fail("strides has " + std::to_string(layout.strides.size()) + " dimensions, shape has " +
                    std::to_string(layout.shape.size()));
    return layout;
}

void read_tensors(const Fields& file, Graph& graph) {
    const json& list = file.array("tensors");
    if (static_cast<std::int64_t>(list.size()) > kLargestCount) file.fail("tensors: too many");
    graph.tensors.resize(list.size());
    std::vector<char> seen(list.size(), 0);
    for (std::size_t i = 0; i < list.size(); ++i) {
        const Fields tensor(list[i], "tensors[" + std::to_string(i) + "]");
        const std::int64_t id = tensor.integer("id");
        if (id < 0 || id >= static_cast<std::int64_t>(list.size())) {
            tensor.fail("id " + std::to_string(id) + " is outside 0 .. " + std::to_string(list.size() - 1));
        }
        if (seen[static_cast<std::size_t>(id)]++) tensor.fail("id " + std::to_string(id) + " is given twice");
        Tensor& read = graph.tensors[TensorId(id)];
        read.name = tensor.text_or("name", "t" + std::to_string(id));
        read.bytes = Bytes(tensor.integer("bytes"));
        const auto kind = tensor_kind_from(tensor.text_or("kind", "activation"));
        if (!kind) tensor.fail("kind '" + tensor.text("kind").substr(0, 60) + "' is not known");
        read.kind = *kind;
        read.layout = layout_of(tensor);
    }
}

std::vector<InplacePair> read_pairs(const Fields& op, std::size_t tensor_count) {
    std::vector<InplacePair> pairs;
    if (!op.has("inplace")) return pairs;
    for (const json& pair : op.array("inplace")) {
        if (!pair.is_array() || pair.size() != 2) op.fail("inplace is not a list of [out, in] pairs");
        pairs.push_back({id_of<TensorId>(op, pair[0], "inplace", tensor_count),
                         id_of<TensorId>(op, pair[1], "inplace", tensor_count)});
    }
    return pairs;
}

Op read_op(const Fields& fields, const Graph& graph, std::size_t op_count) {
    const std::size_t tensor_count = graph.tensors.size();
    Op op;
    op.name = fields.text_or("name", "op");
    op.time = Nanoseconds(fields.integer("time_ns"));
    op.workspace = Bytes(fields.integer_or("workspace_bytes", 0));
    op.inputs = ids_of<TensorId>(fields, "inputs", tensor_count);
    drop_repeats(op.inputs);
    op.outputs = ids_of<TensorId>(fields, "outputs", tensor_count);
    const auto phase = phase_from(fields.text_or("phase", "forward"));
    if (!phase) fields.fail("phase '" + fields.text("phase").substr(0, 60) + "' is not known");
    op.phase = *phase;
    op.module = fields.text_or("module", "");
    op.inplace = read_pairs(fields, tensor_count);
    if (fields.has("of")) op.of = id_of<OpId>(fields, fields.at("of"), "of", op_count);
    op.random = fields.boolean_or("random", false);
    op.mutates = ids_if_any<TensorId>(fields, "mutates", tensor_count);
    op.recomputable = fields.boolean_or("recomputable", true);
    if (fields.has("host_time_ns")) op.host_time = Nanoseconds(fields.integer("host_time_ns"));
    op.source = fields.text_or("source", "");
    if (fields.has("queue"))
        op.collective = Collective{fields.text("queue"), Bytes(fields.integer_or("wire_bytes", 0))};
    return op;
}

void read_ops(const Fields& file, Graph& graph) {
    const json& list = file.array("ops");
    if (static_cast<std::int64_t>(list.size()) > kLargestCount) file.fail("ops: too many");
    graph.ops.reserve(list.size());
    std::vector<char> seen(list.size(), 0);
    for (std::size_t i = 0; i < list.size(); ++i) {
        const Fields fields(list[i], "ops[" + std::to_string(i) + "]");
        const std::int64_t id = fields.integer("id");
        if (id >= 0 && id < static_cast<std::int64_t>(list.size()) && seen[static_cast<std::size_t>(id)]++) {
            fields.fail("id " + std::to_string(id) + " is given twice");
        }
        if (id != static_cast<std::int64_t>(i))
            fields.fail("id " + std::to_string(id) + " is not the op's place in the order, " +
                        std::to_string(i));
        graph.ops.push_back(read_op(fields, graph, list.size()));
    }
}

void read_blocks(const Fields& file, Graph& graph) {
    if (!file.has("blocks")) return;
    const json& list = file.array("blocks");
    graph.blocks.resize(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
        const Fields fields(list[i], "blocks[" + std::to_string(i) + "]");
        Block& block = graph.blocks[BlockId(static_cast<std::int64_t>(i))];
        block.name = fields.text("name");
        block.path = fields.text_or("path", block.name);
        if (fields.has("parent"))
            block.parent = id_of<BlockId>(fields, fields.at("parent"), "parent", list.size());
        if (fields.has("twin")) block.twin = id_of<BlockId>(fields, fields.at("twin"), "twin", list.size());
        block.children = ids_if_any<BlockId>(fields, "children", list.size());
        block.ops = ids_if_any<OpId>(fields, "ops", graph.ops.size());
        block.repeat_class = static_cast<int>(fields.integer_or("repeat_class", -1, -1, kLargestCount));
    }
}

void read_device(const Fields& file, Graph& graph) {
    if (!file.has("device")) return;
    const Fields fields(file.at("device"), "device");
    Device device;
    device.name = fields.text_or("name", "");
    device.memory = Bytes(fields.integer_or("memory_bytes", 0));
    if (device.memory.value < 0) fields.fail("memory_bytes is negative");
    device.links = links_from(fields);
    device.host_memory = Bytes(fields.integer_or("host_memory_bytes", 0));
    if (device.host_memory.value < 0) fields.fail("host_memory_bytes is negative");
    device.kind = fields.text_or("kind", "");
    device.alignment = fields.integer_or("alignment_bytes", device.alignment, 1, kMostAlignment);
    if (fields.has("allocator")) {
        const Fields allocator(fields.at("allocator"), "device.allocator");
        CachingAllocatorOptions options;
        options.expandable_segments = allocator.boolean_or("expandable_segments", false);
        options.large_segment =
            allocator.integer_or("large_segment_bytes", options.large_segment, kLeastSegment, kMostSegment);
        device.allocator = options;
    }
    graph.device = device;
}

void read_module_classes(const Fields& file, Graph& graph) {
    if (!file.has("module_classes")) return;
    const Fields classes(file.at("module_classes"), "module_classes");
    for (const auto& [path, name] : file.at("module_classes").items()) {
        if (!name.is_string()) classes.fail("'" + path.substr(0, 60) + "' is not a string");
        graph.module_classes.emplace(path, name.get<std::string>());
    }
}

json tensor_json(TensorId id, const Tensor& tensor) {
    json out = {{"id", id.value},
                {"name", tensor.name},
                {"bytes", tensor.bytes.value},
                {"kind", to_string(tensor.kind)}};
    if (tensor.layout) {
        out["dtype"] = tensor.layout->dtype;
        out["shape"] = tensor.layout->shape;
        if (!tensor.layout->strides.empty()) out["strides"] = tensor.layout->strides;
    }
    return out;
}

json op_json(OpId id, const Op& op) {
    json out = {{"id", id.value},
                {"name", op.name},
                {"time_ns", op.time.value},
                {"workspace_bytes", op.workspace.value},
                {"inputs", op.inputs},
                {"outputs", op.outputs},
                {"phase", to_string(op.phase)},
                {"module", op.module}};
    for (const InplacePair& pair : op.inplace) out["inplace"].push_back({pair.out.value, pair.in.value});
    if (op.of) out["of"] = op.of->value;
    if (op.random) out["random"] = true;
    if (!op.mutates.empty()) out["mutates"] = op.mutates;
    if (!op.recomputable) out["recomputable"] = false;
    if (op.host_time) out["host_time_ns"] = op.host_time->value;
    if (!op.source.empty()) out["source"] = op.source;
    if (op.collective) {
        out["queue"] = op.collective->queue;
        out["wire_bytes"] = op.collective->wire.value;
    }
    return out;
}

/// Writes one element per line, so that people can read and compare the files.
template <class IdType, class T, class ToJson>
void append_list(std::string& text, const char* key, const IdVector<IdType, T>& items, ToJson to_json) {
    text += std::string(",\n\"") + key + "\": [";
    const char* separator = "\n";
    for (IdType id : items.ids()) {
        text += separator + to_json(id, items[id]).dump();
        separator = ",\n";
    }
    text += "]";
}

json device_json(const Device& device) {
    json item = {{"name", device.name},
                 {"kind", device.kind},
                 {"memory_bytes", device.memory.value},
                 {"alignment_bytes", device.alignment}};
    add_links(device.links, item);
    if (device.host_memory.value > 0) item["host_memory_bytes"] = device.host_memory.value;
    if (device.allocator)
        item["allocator"] = {{"expandable_segments", device.allocator->expandable_segments},
                             {"large_segment_bytes", device.allocator->large_segment}};
    return item;
}

}  // namespace

json block_json(BlockId id, const Block& block) {
    json out = {{"id", id.value}, {"name", block.name}, {"path", block.path}};
    if (block.parent.valid()) out["parent"] = block.parent.value;
    if (block.twin.valid()) out["twin"] = block.twin.value;
    if (!block.children.empty()) out["children"] = block.children;
    if (!block.ops.empty()) out["ops"] = block.ops;
    if (block.repeat_class >= 0) out["repeat_class"] = block.repeat_class;
    return out;
}

Result<Graph> parse_graph(std::string_view text, std::string_view name) {
    Result<json> parsed = parse_json(text, name);
    if (!parsed) {
        const std::string& why = parsed.error().message;
        const bool is_part = why.ends_with(kEmptyJson) || why.ends_with(kCutJson);
        return is_part ? Error{why + "; capture it again"} : parsed.error();
    }
    Graph graph;
    try {
        const Fields file(*parsed, "");
        expect_format(file, "rematlas.graph", 1);
        graph.name = file.text("name");
        read_tensors(file, graph);
        read_ops(file, graph);
        graph.results = ids_of<TensorId>(file, "results", graph.tensors.size());
        if (file.has("boundary"))
            graph.boundary = id_of<OpId>(file, file.at("boundary"), "boundary", graph.ops.size());
        read_blocks(file, graph);
        read_device(file, graph);
        read_module_classes(file, graph);
        if (file.has("provenance"))
            graph.provenance = std::make_shared<const json>(std::move((*parsed)["provenance"]));
        if (file.has("replay")) graph.replay = std::make_shared<const json>(std::move((*parsed)["replay"]));
    } catch (const FieldError& failure) {
        return Error{std::string(name) + ": " + failure.message};
    }
    if (Result<void> valid = validate(graph); !valid)
        return Error{std::string(name) + ": " + on_one_line(valid.error().message)};
    graph.sha256 = sha256(text);
    return graph;
}

Result<Graph> read_graph(const std::filesystem::path& path) {
    return parsed_file(path, parse_graph);
}

std::string graph_text(const Graph& graph) {
    std::string text =
        "{\"format\": \"rematlas.graph\", \"version\": 1, \"name\": " + json(graph.name).dump();
    if (graph.provenance) text += ",\n\"provenance\": " + graph.provenance->dump();
    if (graph.device) text += ",\n\"device\": " + device_json(*graph.device).dump();
    if (!graph.module_classes.empty()) text += ",\n\"module_classes\": " + json(graph.module_classes).dump();
    append_list(text, "tensors", graph.tensors, tensor_json);
    append_list(text, "ops", graph.ops, op_json);
    text += ",\n\"results\": " + json(graph.results).dump();
    if (graph.boundary) text += ",\n\"boundary\": " + std::to_string(graph.boundary->value);
    if (!graph.blocks.empty()) append_list(text, "blocks", graph.blocks, block_json);
    if (graph.replay) text += ",\n\"replay\": " + graph.replay->dump();
    return text + "}\n";
}

Result<void> write_graph(Graph& graph, const std::filesystem::path& path) {
    const std::string text = graph_text(graph);
    if (Result<void> written = write_file(path, text); !written) return written;
    graph.sha256 = sha256(text);
    return {};
}

Result<std::filesystem::path> find_graph_file(const std::filesystem::path& folder, std::string_view digest) {
    std::error_code failure;
    for (const auto& entry : std::filesystem::directory_iterator(folder, failure)) {
        if (!entry.path().string().ends_with(".graph.json") || !entry.is_regular_file(failure)) continue;
        const Result<std::string> text = read_file(entry.path());
        if (text && sha256(*text) == digest) return entry.path();
    }
    return Error{folder.string() + ": no graph file there has the digest " +
                 std::string(digest.substr(0, 12)) + "... that the schedule names"};
}

}  // namespace rematlas
