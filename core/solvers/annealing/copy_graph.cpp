#include "core/solvers/annealing/copy_graph.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace rematlas::annealing {

namespace {

constexpr int kWaitLengths = 12;
constexpr std::int64_t kLongestWait = 8;  // part of the step
constexpr std::int64_t kShareOfSmall = 200;

/// Lists that can still be added to.
using Rows = std::vector<std::vector<std::int32_t>>;

Rows rows_of(const Lists& lists) {
    Rows rows;
    for (std::size_t i = 0; i < lists.size(); ++i) rows.emplace_back(lists[i].begin(), lists[i].end());
    return rows;
}

Lists lists_of(Rows rows) {
    Lists lists;
    for (std::vector<std::int32_t>& row : rows) {
        std::sort(row.begin(), row.end());
        lists.items.insert(lists.items.end(), row.begin(), row.end());
        lists.begin.push_back(static_cast<std::int32_t>(lists.items.size()));
    }
    return lists;
}

class CopyGraphBuilder {
  public:
    explicit CopyGraphBuilder(const Problem& problem)
        : problem_(problem), graph_{.flat = problem.flat, .real_ops = problem.flat.op_count} {}

    CopyGraph build() {
        const int tensors = problem_.flat.tensor_count;
        const Offload what = problem_.copies.what;
        const IdVector<TensorId, char> allowed = may_leave(problem_.graph, what);
        graph_.real.resize(static_cast<std::size_t>(tensors));
        std::iota(graph_.real.begin(), graph_.real.end(), 0);
        graph_.may_leave.assign(allowed.begin(), allowed.end());
        graph_.starts_on_host.assign(static_cast<std::size_t>(tensors), 0);
        graph_.ends_on_host.assign(static_cast<std::size_t>(tensors), 0);
        graph_.resident.assign(static_cast<std::size_t>(tensors), -1);
        keep_small();
        if (moves_weights(what)) {
            const IdVector<TensorId, char> ends = may_end_on_host(problem_.graph, what);
            graph_.ends_on_host.assign(ends.begin(), ends.end());
            add_residents();
        }
        add_waits();
        return std::move(graph_);
    }

  private:
    void keep_small() {
        const std::vector<std::int64_t>& bytes = graph_.flat.bytes;
        std::vector<std::int32_t> leaving;
        std::int64_t sum = 0;
        for (int t = 0; t < graph_.flat.tensor_count; ++t) {
            if (!graph_.may_leave[t]) continue;
            leaving.push_back(t);
            sum += bytes[t];
        }
        std::stable_sort(leaving.begin(), leaving.end(), [&](int a, int b) { return bytes[a] < bytes[b]; });
        std::int64_t small = 0;
        for (const int t : leaving) {
            small += bytes[t];
            if (bytes[t] == 0 || bytes[t] < problem_.copies.links.least_copy.value ||
                small <= sum / kShareOfSmall)
                graph_.may_leave[t] = 0;
        }
    }

    /// Those that may leave, and all that are updated.
    void add_residents() {
        const Graph& source = problem_.graph;
        std::vector<std::int32_t> version(source.tensors.size(), -1);
        std::vector<std::int32_t> made;
        const auto track = [&](std::int32_t t) {
            if (version[t] >= 0 || graph_.flat.producer[t] >= 0) return;
            version[t] = t;
            made.push_back(t);
            graph_.resident[t] = static_cast<std::int32_t>(graph_.residents.size());
            graph_.residents.push_back({t, t});
            graph_.starts_on_host[t] = 1;
            graph_.flat.resident_bytes -= graph_.flat.bytes[t];
        };
        // What other ops update (running statistics) has no versions: these ops run again and update nothing then.
        for (const Op& op : source.ops)
            if (op.phase != Phase::optimizer)
                for (const TensorId t : op.mutates) graph_.may_leave[t.index()] = 0;
        for (std::int32_t t = 0; t < problem_.flat.tensor_count; ++t)
            if (graph_.may_leave[t]) track(t);
        for (const Op& op : source.ops)
            if (op.phase == Phase::optimizer)
                for (const TensorId t : op.mutates) track(t.value);
        inputs_ = rows_of(graph_.flat.inputs);
        outputs_ = rows_of(graph_.flat.outputs);
        for (const OpId id : source.ops.ids()) {
            std::vector<std::int32_t>& reads = inputs_[id.index()];
            for (const auto* list : {&source.ops[id].inputs, &source.ops[id].mutates})
                for (const TensorId t : *list)
                    if (version[t.index()] >= 0) reads.push_back(version[t.index()]);
            std::sort(reads.begin(), reads.end());
            reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
            if (source.ops[id].phase != Phase::optimizer) continue;
            for (const TensorId t : source.ops[id].mutates)
                version[t.index()] = update(id, t, version[t.index()]);
        }
        add_home(made);
        for (const CopyGraph::Resident& resident : graph_.residents) {
            graph_.flat.is_result[resident.last] = 1;
            graph_.flat.results.push_back(resident.last);
            graph_.ends_on_host[resident.last] = 1;
        }
        finish();
    }

    /// The version that the op makes of one.
    std::int32_t update(OpId op, TensorId resident, std::int32_t before) {
        FlatGraph& flat = graph_.flat;
        const std::int32_t made = flat.tensor_count++;
        const std::int64_t bytes = flat.bytes[before];
        flat.bytes.push_back(bytes);
        flat.producer.push_back(op.value);
        flat.is_result.push_back(0);
        graph_.real.push_back(resident.value);
        graph_.may_leave.push_back(graph_.may_leave[before]);
        graph_.starts_on_host.push_back(0);
        graph_.ends_on_host.push_back(0);
        graph_.resident.push_back(graph_.resident[before]);
        graph_.residents[graph_.resident[before]].last = made;
        outputs_[op.index()].push_back(made);
        updates_.push_back({op.value, {made, before, bytes}});
        if (updates_.size() == 1 || updates_[updates_.size() - 2].first != op.value) forbid_old(op.value);
        return made;
    }

    /// What an op updates is not there any more afterwards: not to run in place costs more than there is.
    void forbid_old(std::int32_t op) {
        const std::int64_t much =
            std::accumulate(problem_.flat.bytes.begin(), problem_.flat.bytes.end(), std::int64_t{1});
        graph_.flat.workspace[op] += much;
        updates_.back().second.saved += much;
    }

    /// Its bytes are those that are there after it: none of its own.
    void add_home(const std::vector<std::int32_t>& made) {
        FlatGraph& flat = graph_.flat;
        graph_.home = flat.op_count++;
        flat.time.push_back(0);
        std::int64_t bytes = 0;
        for (const std::int32_t t : made) {
            flat.producer[t] = graph_.home;
            bytes += flat.bytes[t];
        }
        flat.workspace.push_back(-bytes);
        flat.required.push_back(1);
        flat.recomputable.push_back(0);
        inputs_.emplace_back();
        outputs_.push_back(made);
    }

    /// The lists of the flat graph, with the pairs of updates: an op that updates has no others, since it runs in place
    /// with all of its pairs or with none.
    void finish() {
        FlatGraph& flat = graph_.flat;
        const FlatGraph& plain = problem_.flat;
        flat.inputs = lists_of(inputs_);
        flat.outputs = lists_of(outputs_);
        flat.inplace.clear();
        flat.inplace_begin = {0};
        auto update = updates_.begin();
        for (int op = 0; op < flat.op_count; ++op) {
            const bool updates = update != updates_.end() && update->first == op;
            for (; update != updates_.end() && update->first == op; ++update)
                flat.inplace.push_back(update->second);
            if (!updates && op < plain.op_count)
                for (const FlatGraph::Pair& pair : plain.inplace_pairs(op)) flat.inplace.push_back(pair);
            flat.inplace_begin.push_back(static_cast<std::int32_t>(flat.inplace.size()));
        }
        Rows users(static_cast<std::size_t>(flat.tensor_count));
        for (int op = 0; op < flat.op_count; ++op)
            for (const std::int32_t t : flat.inputs[op]) users[t].push_back(op);
        flat.users = lists_of(std::move(users));
        for (const auto& [op, pair] : updates_) flat.recomputable[op] = 0;
    }

    void add_waits() {
        FlatGraph& flat = graph_.flat;
        std::int64_t time = flat.base_time / kLongestWait;
        for (int i = 0; i < kWaitLengths && (time > 0 || i == 0); ++i, time /= 2) {
            graph_.waits.push_back(flat.op_count++);
            flat.time.push_back(std::max<std::int64_t>(time, 1));
            flat.workspace.push_back(0);
            flat.inputs.begin.push_back(flat.inputs.begin.back());
            flat.outputs.begin.push_back(flat.outputs.begin.back());
            flat.inplace_begin.push_back(flat.inplace_begin.back());
            flat.required.push_back(0);
            flat.recomputable.push_back(1);
        }
    }

    const Problem& problem_;
    CopyGraph graph_;
    Rows inputs_, outputs_;
    std::vector<std::pair<std::int32_t, FlatGraph::Pair>> updates_;  ///< by op, in the graph's order
};

}  // namespace

CopyGraph copy_graph(const Problem& problem) {
    return CopyGraphBuilder(problem).build();
}

RunSequence with_early_updates(const Problem& problem, const CopyGraph& graph, const RunSequence& runs) {
    if (graph.home < 0) return runs;
    // Where each version was last read or made; an update comes behind all that read the one before it.
    std::vector<std::int64_t> touched(static_cast<std::size_t>(graph.flat.tensor_count), -1);
    std::vector<std::pair<std::int64_t, std::int32_t>>
        placed;  // two places a run, so that updates fit between
    const auto is_update = [&](std::int32_t op) {
        return op < graph.real_ops && problem.graph.ops[OpId(op)].phase == Phase::optimizer;
    };
    const auto note = [&](std::int32_t op, std::int64_t place) {
        for (const auto& tensors : {graph.flat.inputs[op], graph.flat.outputs[op]})
            for (const int t : tensors) touched[t] = std::max(touched[t], place);
        placed.emplace_back(place, op);
    };
    std::int64_t place = 0;
    for (const std::int32_t op : runs) {
        place += 2;
        if (!is_update(op)) note(op, place);
    }
    for (const std::int32_t op : runs) {
        if (!is_update(op)) continue;
        std::int64_t earliest = 0;
        for (const int t : graph.flat.inputs[op]) earliest = std::max(earliest, touched[t]);
        note(op, earliest | 1);
    }
    std::stable_sort(placed.begin(), placed.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    RunSequence early;
    if (graph.home >= 0) early.push_back(graph.home);
    for (const auto& [unused, op] : placed) early.push_back(op);
    return early;
}

}  // namespace rematlas::annealing
