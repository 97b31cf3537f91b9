// rematlas inspect, rematlas decompose
#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/cli/command.h"
#include "app/cli/measured_answer.h"
#include "app/cli/reading.h"
#include "app/cli/run_answer.h"
#include "core/addresses/caching_allocator.h"
#include "core/base/files.h"
#include "core/base/sizes.h"
#include "core/bounds/least_memory.h"
#include "core/costs/link_profile.h"
#include "core/graph/flat_graph.h"
#include "core/graph/graph_file.h"
#include "core/hierarchy/decompose.h"
#include "core/planning/file_kind.h"
#include "core/planning/solve.h"
#include "core/planning/sweep.h"
#include "core/schedule/held.h"
#include "core/schedule/loss_head.h"
#include "core/schedule/run_sequence.h"

namespace rematlas {
namespace {

using nlohmann::json;

struct PhaseSum {
    std::size_t ops = 0;
    Nanoseconds time;
    Bytes made;
    Bytes largest_workspace;
};

/// The collectives of one queue.
struct QueueSum {
    std::size_t ops = 0;
    Nanoseconds time;
    Bytes made, sent;
};

struct RepeatedBlock {
    std::string name;
    std::size_t times = 0;
    std::size_t ops = 0;
};

struct Inspection {
    std::array<PhaseSum, 4> phases;          ///< one sum for each phase; collectives do not count
    std::map<std::string, QueueSum> queues;  ///< the collectives, by the name of their queue
    std::map<std::string, Bytes> residents;  ///< bytes by kind of tensor
    Bytes resident_sum;
    Bytes keep_all_peak;
    OpId peak_op;
    /// Bytes held while `peak_op` runs, by kind of tensor, and "workspace". The sum is `keep_all_peak`
    std::map<std::string, Bytes> peak_parts;
    Bytes least_peak;                        ///< lower bound on the peak without copies to the host
    std::optional<Bytes> least_with_copies;  ///< lower bound on the peak with copies to the host; nullopt
                                             ///< without links to the host
    Bytes smallest_known;
    /// Peaks of libtorch's allocator without recomputation; only for graphs that were captured on CUDA
    std::optional<CachingAllocatorPeaks> caching;
    std::optional<LossHeadMemory> loss_head;  ///< set if chunks of the loss head would lower the peak
    std::vector<TensorId> heaviest;
    /// For each tensor of `heaviest`: the source line of the model that makes the tensor; empty if unknown
    std::vector<std::string> lines;
    std::vector<RepeatedBlock> repeats;
    std::size_t blocks = 0;
};

std::size_t ops_below(const IdVector<BlockId, Block>& blocks, BlockId id) {
    std::size_t count = blocks[id].ops.size();
    for (BlockId child : blocks[id].children) count += ops_below(blocks, child);
    return count;
}

/// Returns the largest repeated blocks, without blocks that lie inside another repeated block.
std::vector<RepeatedBlock> repeated(const IdVector<BlockId, Block>& blocks) {
    std::map<int, std::vector<BlockId>> classes;
    for (BlockId id : blocks.ids()) {
        const Block& block = blocks[id];
        const bool inside = block.parent.valid() && blocks[block.parent].repeat_class >= 0;
        if (block.repeat_class >= 0 && !inside) classes[block.repeat_class].push_back(id);
    }
    std::vector<RepeatedBlock> found;
    for (const auto& [number, members] : classes) {
        const std::size_t ops = ops_below(blocks, members.front());
        BlockId root = members.front();
        while (blocks[root].parent.valid()) root = blocks[root].parent;
        if (members.size() > 1 && ops > 1)
            found.push_back(
                {blocks[members.front()].path + " (" + blocks[root].name + ")", members.size(), ops});
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.times * a.ops > b.times * b.ops; });
    if (found.size() > 8) found.resize(8);
    return found;
}

/// Returns the bytes that are held during the first run of the op `at`: a sum for each kind of tensor, and
/// the op's workspace.
std::map<std::string, Bytes> parts_at(const Graph& graph, const std::vector<Step>& steps, OpId at) {
    const auto runs_it = [at](const Step& step) { return step.runs() && step.op() == at; };
    const auto first = std::find_if(steps.begin(), steps.end(), runs_it);
    const Held held = held_during(graph, steps, static_cast<std::size_t>(first - steps.begin()));
    std::map<std::string, Bytes> parts{{"workspace", held.workspace}};
    for (const HeldTensor& one : held.tensors)
        parts[std::string(to_string(graph.tensors[one.tensor].kind))] += one.bytes;
    return parts;
}

/// Returns how long to search for the smallest budget. A larger graph gets more time.
Nanoseconds search_time_for(const Graph& graph) {
    constexpr std::int64_t kLeast = 1'500'000'000, kAnOp = 1'500'000, kMost = 10'000'000'000;
    return Nanoseconds(std::clamp(kAnOp * static_cast<std::int64_t>(graph.ops.size()), kLeast, kMost));
}

Inspection inspect(const Graph& graph, const Links& links, Nanoseconds search_time) {
    Inspection result;
    const FlatGraph flat = flatten(graph);
    for (const Op& op : graph.ops) {
        if (op.collective) {
            QueueSum& queue = result.queues[op.collective->queue];
            ++queue.ops;
            queue.time += op.time;
            queue.sent += op.collective->wire;
            for (TensorId t : op.outputs) queue.made += graph.tensors[t].bytes;
            continue;
        }
        PhaseSum& sum = result.phases[static_cast<std::size_t>(op.phase)];
        ++sum.ops;
        sum.time += op.time;
        for (TensorId t : op.outputs) sum.made += graph.tensors[t].bytes;
        sum.largest_workspace = std::max(sum.largest_workspace, op.workspace);
    }
    for (TensorId t : graph.tensors.ids()) {
        if (flat.producer[t.index()] < 0)
            result.residents[std::string(to_string(graph.tensors[t].kind))] += graph.tensors[t].bytes;
    }
    result.resident_sum = Bytes(flat.resident_bytes);
    const RunSequence keep_all = keep_all_sequence(flat);
    const SequenceCost cost = cost_of(flat, keep_all);
    result.keep_all_peak = Bytes(cost.peak);
    result.peak_op = OpId(keep_all[cost.peak_run]);
    result.peak_parts = parts_at(graph, lower(flat, keep_all), result.peak_op);
    result.loss_head = loss_head_at_peak(graph, flat);
    result.least_peak = least_memory(flat, {.time = std::chrono::nanoseconds(search_time.value)}).bytes;
    if (links.both_ways()) result.least_with_copies = least_needed({graph, flat, {.what = Offload::all}});
    if (graph.device && graph.device->allocator) {
        const auto peaks = caching_allocator_peaks(graph, lower(flat, keep_all), *graph.device->allocator);
        if (peaks) result.caching = *peaks;
    }
    Limits limits;
    limits.time = std::chrono::nanoseconds(search_time.value);
    limits.cache = cache_folder();
    result.smallest_known = smallest_known_budget(Problem{graph, flat}, limits);
    for (TensorId t : graph.tensors.ids()) result.heaviest.push_back(t);
    std::stable_sort(result.heaviest.begin(), result.heaviest.end(),
                     [&](TensorId a, TensorId b) { return graph.tensors[a].bytes > graph.tensors[b].bytes; });
    result.heaviest.resize(std::min<std::size_t>(10, result.heaviest.size()));
    const auto made_by = producers(graph);
    for (TensorId t : result.heaviest)
        result.lines.push_back(made_by[t].valid() ? graph.ops[made_by[t]].source : std::string());
    const IdVector<BlockId, Block> blocks = decompose(graph);
    result.blocks = blocks.size();
    result.repeats = repeated(blocks);
    return result;
}

/// Returns the name of the optimizer whose updates are part of the step, from the graph's provenance; empty
/// if the step has no updates.
std::string updates_told(const Graph& graph) {
    if (!graph.provenance || !graph.provenance->is_object()) return {};
    const json& provenance = *graph.provenance;
    const auto found = provenance.find("optimizer");
    if (found == provenance.end() || !found->is_string() || *found == "none") return {};
    return found->get<std::string>();
}

json inspection_json(const Graph& graph, const Inspection& found) {
    json out = {{"name", graph.name},
                {"sha256", graph.sha256},
                {"ops", graph.ops.size()},
                {"tensors", graph.tensors.size()},
                {"keep_all_peak_bytes", found.keep_all_peak.value},
                {"least_peak_bytes", found.least_peak.value},
                {"smallest_known_budget_bytes", found.smallest_known.value},
                {"resident_bytes", found.resident_sum.value},
                {"blocks", found.blocks}};
    if (const std::string updates = updates_told(graph); !updates.empty()) out["updates"] = updates;
    if (found.least_with_copies) out["least_peak_with_copies_bytes"] = found.least_with_copies->value;
    if (found.caching) {
        out["allocated_peak_bytes"] = found.caching->allocated.value;
        out["reserved_peak_bytes"] = found.caching->reserved.value;
    }
    if (found.loss_head) out["loss_head"] = json_of(*found.loss_head);
    for (std::size_t p = 0; p < found.phases.size(); ++p) {
        const PhaseSum& sum = found.phases[p];
        out["phases"][std::string(to_string(static_cast<Phase>(p)))] = {
            {"ops", sum.ops},
            {"time_ns", sum.time.value},
            {"bytes_made", sum.made.value},
            {"largest_workspace_bytes", sum.largest_workspace.value}};
    }
    for (const auto& [name, queue] : found.queues)
        out["queues"][name] = {
            {"ops", queue.ops}, {"time_ns", queue.time.value}, {"wire_bytes", queue.sent.value}};
    out["time_ns"] = base_time(graph).value;
    for (const auto& [kind, bytes] : found.residents) out["residents"][kind] = bytes.value;
    for (const auto& [kind, bytes] : found.peak_parts) out["peak_parts"][kind] = bytes.value;
    for (std::size_t i = 0; i < found.heaviest.size(); ++i) {
        const TensorId t = found.heaviest[i];
        const Tensor& tensor = graph.tensors[t];
        json told = {{"tensor", t.value},
                     {"name", tensor.name},
                     {"bytes", tensor.bytes.value},
                     {"kind", to_string(tensor.kind)}};
        if (tensor.layout) told["layout"] = to_string(*tensor.layout);
        if (!found.lines[i].empty()) told["source"] = found.lines[i];
        out["heaviest"].push_back(std::move(told));
    }
    out["repeats"] = json::array();
    for (const RepeatedBlock& block : found.repeats)
        out["repeats"].push_back({{"path", block.name}, {"times", block.times}, {"ops", block.ops}});
    return out;
}

void print_inspection(const Graph& graph, const Inspection& found) {
    std::printf("%s: %zu ops, %zu tensors, %zu blocks\n\n", graph.name.c_str(), graph.ops.size(),
                graph.tensors.size(), found.blocks);
    std::printf("%-12s %8s %12s %12s %14s\n", "phase", "ops", "time", "makes", "max workspace");
    for (std::size_t p = 0; p < found.phases.size(); ++p) {
        const PhaseSum& sum = found.phases[p];
        if (sum.ops == 0) continue;
        std::printf("%-12s %8zu %12s %12s %14s\n", std::string(to_string(static_cast<Phase>(p))).c_str(),
                    sum.ops, format_duration(sum.time).c_str(), format_bytes(sum.made).c_str(),
                    format_bytes(sum.largest_workspace).c_str());
    }
    for (const auto& [name, queue] : found.queues)
        std::printf("%-12s %8zu %12s %12s %14s\n", ("queue " + name).c_str(), queue.ops,
                    format_duration(queue.time).c_str(), format_bytes(queue.made).c_str(),
                    ("sends " + format_bytes(queue.sent)).c_str());
    if (const std::string updates = updates_told(graph); !updates.empty())
        std::printf("\nupdates\n  %s\n", updates.c_str());
    std::printf("\nmemory\n");
    std::printf("  %-34s %12s  (at op %d, %s)\n", "peak without recomputation",
                format_bytes(found.keep_all_peak).c_str(), found.peak_op.value,
                graph.ops[found.peak_op].name.c_str());
    for (const auto& [kind, bytes] : found.peak_parts)
        if (bytes.value > 0) std::printf("    %-32s %12s\n", kind.c_str(), format_bytes(bytes).c_str());
    if (found.caching) {
        std::printf("  %-34s %12s\n", "  allocated by libtorch",
                    format_bytes(found.caching->allocated).c_str());
        std::printf("  %-34s %12s\n", "  reserved by libtorch",
                    format_bytes(found.caching->reserved).c_str());
    }
    std::printf("  %-34s %12s\n", "smallest budget known to work",
                format_bytes(found.smallest_known).c_str());
    std::printf("  %-34s %12s  (without copies to the host)\n", "no schedule needs less than",
                format_bytes(found.least_peak).c_str());
    if (found.least_with_copies)
        std::printf("    %-32s %12s\n", "with all that may be on the host",
                    format_bytes(*found.least_with_copies).c_str());
    std::printf("  %-34s %12s\n", "resident", format_bytes(found.resident_sum).c_str());
    for (const auto& [kind, bytes] : found.residents)
        std::printf("    %-32s %12s\n", kind.c_str(), format_bytes(bytes).c_str());
    if (found.loss_head) std::printf("\n%s\n", told(*found.loss_head).c_str());
    std::printf("\nheaviest tensors\n");
    for (std::size_t i = 0; i < found.heaviest.size(); ++i) {
        const Tensor& tensor = graph.tensors[found.heaviest[i]];
        const std::string layout = tensor.layout ? "  " + to_string(*tensor.layout) : "";
        std::printf("  %12s  %-10s %s%s%s\n", format_bytes(tensor.bytes).c_str(),
                    std::string(to_string(tensor.kind)).c_str(), tensor.name.c_str(), layout.c_str(),
                    found.lines[i].empty() ? "" : ("  (" + found.lines[i] + ")").c_str());
    }
    if (!found.repeats.empty()) std::printf("\nrepeated blocks\n");
    for (const RepeatedBlock& block : found.repeats)
        std::printf("  %3zux  %-40s %zu ops each\n", block.times, block.name.c_str(), block.ops);
}

void print_tree(const Graph& graph, const IdVector<BlockId, Block>& blocks, BlockId id, int depth) {
    const Block& block = blocks[id];
    std::string line = std::string(static_cast<std::size_t>(2 * depth), ' ') + block.name;
    std::printf("%-44s %6zu ops", line.c_str(), ops_below(blocks, id));
    if (block.repeat_class >= 0) std::printf("   class %d", block.repeat_class);
    std::printf("\n");
    for (BlockId child : block.children) print_tree(graph, blocks, child, depth + 1);
}

/// `measured` has the path of the file, and options that are only for a measurement. `link` is a name or a
/// file of links; if it is empty, the links of the graph's device are used.
Result<Exit> inspect_command(const MeasuredQuestion& measured, const std::string& link,
                             const OutputFlags& flags) {
    const bool is_run = file_kind(measured.path) == FileKind::run;
    if (is_run || is_read_as_measurement(measured.path)) {
        if (!link.empty())
            return Error{"--device-profile: " + measured.path + " is measured, and has no links"};
        if (is_run && !measured.plan.empty())
            return Error{"--plan: " + measured.path + " tells what each step's plan foretold itself"};
        return is_run ? inspect_run(measured.path, measured.top, flags)
                      : inspect_measurement(measured, flags);
    }
    if (!measured.plan.empty())
        return Error{"--plan: " + measured.path +
                     " is no measurement by torch; check compares a plan with a graph"};
    const Result<Graph> graph = read_graph(measured.path);
    if (!graph) return graph.error();
    Links links = graph->device ? graph->device->links : Links();
    if (!link.empty()) {
        const Result<Links> named = links_named(link);
        if (!named) return Error{"--device-profile: " + named.error().message};
        links = *named;
    }
    const Inspection found = inspect(*graph, links, search_time_for(*graph));
    if (flags.json)
        print_json(inspection_json(*graph, found));
    else
        print_inspection(*graph, found);
    return Exit::success;
}

/// `partition` is a name that `partition_from` knows. If it is empty, the graph's own blocks are printed. If
/// the graph has none, the blocks that follow from its module paths are printed.
Result<Exit> decompose_command(const std::string& path, const std::string& partition, const std::string& out,
                               const OutputFlags& flags) {
    const std::optional<Partition> by = partition_from(partition);
    if (!by && !partition.empty())
        return Error{"--partition: '" + partition.substr(0, 60) +
                     "' is none of articulation, bottom-up, modules, repeats"};
    const Result<Graph> graph = read_graph(path);
    if (!graph) return graph.error();
    const IdVector<BlockId, Block> blocks =
        by ? decompose(*graph, {.by = *by, .nest_sequences = true}) : decompose(*graph);
    json list = json::array();
    for (BlockId id : blocks.ids()) list.push_back(block_json(id, blocks[id]));
    const json object = {{"format", "rematlas.blocks"},
                         {"version", 1},
                         {"graph", graph->name},
                         {"graph_sha256", graph->sha256},
                         {"blocks", std::move(list)}};
    if (!out.empty()) {
        if (const Result<void> written = write_file(out, object.dump(1) + "\n"); !written)
            return written.error();
    }
    if (flags.json) {
        print_json(object);
    } else {
        for (BlockId id : blocks.ids()) {
            if (!blocks[id].parent.valid()) print_tree(*graph, blocks, id, 0);
        }
    }
    return Exit::success;
}

}  // namespace

void add_graph_commands(const Commands& commands) {
    static OutputFlags flags;
    static std::string path, out, partition, link;
    static MeasuredQuestion measured;
    CLI::App* inspect_app = commands.add(
        "inspect", "show what is in a graph, in a memory snapshot or trace by torch, or in a log of steps",
        "rematlas inspect resnet50.graph.json", flags,
        []() -> Result<Exit> { return inspect_command(measured, link, flags); });
    inspect_app
        ->add_option("file", measured.path,
                     "a .graph.json file, a snapshot by torch.cuda.memory._dump_snapshot, a Chrome trace by "
                     "torch.profiler with profile_memory=True, or what apply(watch=...) wrote")
        ->required();
    inspect_app->add_option(
        "--plan", measured.plan,
        "the plan or schedule of a measured step, whose peak is shown beside the measured one");
    inspect_app
        ->add_option("--top", measured.top,
                     "how many places of what is alive at a measured peak, or how many reasons why the "
                     "original ran steps "
                     "(default: 10)")
        ->check(unsigned_number());
    inspect_app->add_option("--device-profile", link,
                            "with these links to the host in place of the graph's: of a device, of a kind "
                            "(pcie4, ...), or of a .json file of either");

    CLI::App* decompose_app = commands.add("decompose", "show the hierarchy of blocks that the solvers use",
                                           "rematlas decompose gpt12.graph.json -o blocks.json", flags,
                                           [] { return decompose_command(path, partition, out, flags); });
    decompose_app->add_option("graph", path, "a .graph.json file")->required();
    decompose_app->add_option("--partition", partition,
                              "where blocks begin: articulation, bottom-up, modules or repeats (default: the "
                              "file's own blocks, else modules and structure)");
    decompose_app->add_option("-o,--output", out, "write the blocks to this file");
}

}  // namespace rematlas
