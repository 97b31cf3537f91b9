#include "core/solvers/annealing/copy_graph.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace rematlas::annealing {

namespace {

constexpr int kWaitLengths = 12;
constexpr std::int64_t kLongestWait = 8;  // the longest wait is the step's or the longest copy's time / this
// Together, the small tensors have at most 1 / kShareOfSmall of the bytes that may be offloaded (for tensors
// below `least_copy`: 1 / kShareOfAdvised), and at most 1 / kShareOfBudget of the budget.
constexpr std::int64_t kShareOfSmall = 200;
constexpr std::int64_t kShareOfAdvised = 10;
constexpr std::int64_t kShareOfBudget = 16;

/// The same lists as in a `Lists`, but items can be added to each of them.
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
    CopyGraphBuilder(const Problem& problem, Bytes budget, const UpdateChoice& on_host)
        : problem_(problem),
          budget_(budget),
          chosen_(on_host),
          graph_{.flat = problem.flat, .real_ops = problem.flat.op_count} {}

    CopyGraph build() {
        const int tensors = problem_.flat.tensor_count;
        const Offload what = problem_.copies.what;
        const IdVector<TensorId, char> allowed = may_leave(problem_.graph, problem_.copies);
        graph_.real.resize(static_cast<std::size_t>(tensors));
        std::iota(graph_.real.begin(), graph_.real.end(), 0);
        graph_.may_leave.assign(allowed.begin(), allowed.end());
        graph_.starts_on_host.assign(static_cast<std::size_t>(tensors), 0);
        graph_.ends_on_host.assign(static_cast<std::size_t>(tensors), 0);
        graph_.resident.assign(static_cast<std::size_t>(tensors), -1);
        keep_small();
        if (moves_weights(what)) {
            const IdVector<TensorId, char> ends = may_end_on_host(problem_.graph, problem_.copies);
            graph_.ends_on_host.assign(ends.begin(), ends.end());
            if (!chosen_.empty()) place_updates();
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
            const bool advised = bytes[t] < problem_.copies.links.least_copy.value;
            const std::int64_t share = sum / (advised ? kShareOfAdvised : kShareOfSmall);
            if (bytes[t] == 0 || small <= std::min(share, budget_.value / kShareOfBudget))
                graph_.may_leave[t] = 0;
        }
    }

    void place_updates() {
        graph_.host = host_updates(problem_, graph_.may_leave, chosen_);
        graph_.on_host.assign(static_cast<std::size_t>(graph_.real_ops) + 1, 0);  // including `home`
        FlatGraph& flat = graph_.flat;
        for (const HostUpdates::Run& run : graph_.host.runs) {
            graph_.on_host[static_cast<std::size_t>(run.op)] = 1;
            flat.required[run.op] = 0;
            flat.time[run.op] = flat.workspace[run.op] = 0;
            for (const std::int32_t t : run.inputs) {
                graph_.ends_on_host[t] = 1;
                if (!std::exchange(flat.is_result[t], 1)) flat.results.push_back(t);
            }
        }
        for (const std::int32_t t : graph_.host.there) {
            graph_.may_leave[t] = 0;
            flat.resident_bytes -= flat.bytes[t];
        }
        for (const std::int32_t t : graph_.host.both) graph_.may_leave[t] = 0;
    }

    void mark_updates() {
        graph_.starts_run.assign(graph_.real.size(), -1);
        graph_.read_there.assign(graph_.real.size(), 0);
        graph_.dies_there.assign(graph_.real.size(), 0);
        graph_.new_there.assign(graph_.real.size(), 0);
        for (std::size_t i = 0; i < graph_.host.runs.size(); ++i) {
            const HostUpdates::Run& run = graph_.host.runs[i];
            for (const std::int32_t t : run.inputs) {
                graph_.read_there[t] = 1;
                graph_.dies_there[t] = !problem_.flat.is_result[t];
            }
            for (const std::int32_t t : run.updated) graph_.new_there[t] = 1;
            if (!run.inputs.empty()) graph_.starts_run[run.inputs.front()] = static_cast<std::int32_t>(i);
        }
    }

    /// Adds the residents that may be offloaded, and all residents that ops of the optimizer update on the
    /// device.
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
        // Some residents, such as running statistics, are updated by ops outside the optimizer. They get no
        // versions, because reruns of these ops do not update them, and they are never offloaded.
        for (const Op& op : source.ops)
            if (op.phase != Phase::optimizer)
                for (const TensorId t : op.mutates) graph_.may_leave[t.index()] = 0;
        for (std::int32_t t = 0; t < problem_.flat.tensor_count; ++t)
            if (graph_.may_leave[t]) track(t);
        for (const OpId id : source.ops.ids())
            if (source.ops[id].phase == Phase::optimizer && !graph_.runs_there(id.value))
                for (const TensorId t : source.ops[id].mutates) track(t.value);
        inputs_ = rows_of(graph_.flat.inputs);
        outputs_ = rows_of(graph_.flat.outputs);
        for (const OpId id : source.ops.ids()) {
            std::vector<std::int32_t>& reads = inputs_[id.index()];
            if (graph_.runs_there(id.value)) {
                reads.clear();
                continue;
            }
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
        mark_updates();
        for (const CopyGraph::Resident& resident : graph_.residents) {
            if (graph_.is_new_there(resident.first)) continue;
            graph_.flat.is_result[resident.last] = 1;
            graph_.flat.results.push_back(resident.last);
            graph_.ends_on_host[resident.last] = 1;
        }
        finish();
    }

    /// Lets the op make a new version of the resident, from the version `before`. Returns the tensor that is
    /// added for the new version.
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

    /// Forces the op to run in place, so that the old version does not exist after the update. For this, the
    /// op gets a workspace that is larger than all tensors together, and saves as many bytes in place.
    void forbid_old(std::int32_t op) {
        const std::int64_t much =
            std::accumulate(problem_.flat.bytes.begin(), problem_.flat.bytes.end(), std::int64_t{1});
        graph_.flat.workspace[op] += much;
        updates_.back().second.saved += much;
    }

    /// Adds the op "home", which makes the residents. Its negative workspace cancels the bytes of its
    /// outputs, so its run takes no bytes.
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

    /// Writes the lists of the flat graph. An op that updates residents keeps the in-place pairs of its
    /// updates and loses all others, because an op runs in place with all of its pairs or with none.
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

    /// Adds the ops that wait. The longest wait is a fraction of the step's time, or of the longest copy's
    /// time if that is greater.
    void add_waits() {
        FlatGraph& flat = graph_.flat;
        const std::int64_t shortest =
            std::max<std::int64_t>((flat.base_time / kLongestWait) >> (kWaitLengths - 1), 1);
        for (std::int64_t time = std::max(flat.base_time, longest_copy()) / kLongestWait;
             time >= shortest || graph_.waits.empty(); time /= 2) {
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

    /// Returns the time of the longest copy in ns, at most a day.
    std::int64_t longest_copy() const {
        std::int64_t most = 0;
        for (std::size_t t = 0; t < graph_.may_leave.size(); ++t)
            if (graph_.may_leave[t]) most = std::max(most, graph_.flat.bytes[t]);
        const Links& links = problem_.copies.links;
        const double slower = std::min(links.to_host_bytes_per_second, links.to_device_bytes_per_second);
        constexpr double day = 24 * 3600e9;
        return static_cast<std::int64_t>(std::min(1e9 * static_cast<double>(most) / slower, day));
    }

    const Problem& problem_;
    const Bytes budget_;
    const UpdateChoice& chosen_;
    CopyGraph graph_;
    Rows inputs_, outputs_;
    /// One entry per update, in the graph's order: the op, and the in-place pair of the new and old version.
    std::vector<std::pair<std::int32_t, FlatGraph::Pair>> updates_;
};

}  // namespace

CopyGraph copy_graph(const Problem& problem, Bytes budget, const UpdateChoice& on_host) {
    return CopyGraphBuilder(problem, budget, on_host).build();
}

RunSequence with_early_updates(const Problem& problem, const CopyGraph& graph, const RunSequence& runs) {
    if (graph.home < 0) return runs;
    // By tensor (each version has its own): the place of the last run that reads or makes it. An update comes
    // after all runs that read the version that it replaces.
    std::vector<std::int64_t> touched(static_cast<std::size_t>(graph.flat.tensor_count), -1);
    std::vector<std::pair<std::int64_t, std::int32_t>>
        placed;  // (place, op); the runs get even places, so that updates fit between them
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
        if (!is_update(op) || graph.runs_there(op)) continue;
        std::int64_t earliest = 0;
        for (const int t : graph.flat.inputs[op]) earliest = std::max(earliest, touched[t]);
        note(op, earliest | 1);
    }
    std::stable_sort(placed.begin(), placed.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    RunSequence early{graph.home};
    for (const auto& [unused, op] : placed) early.push_back(op);
    return early;
}

CopyState start_of(const Problem& problem, const CopyGraph& graph, const RunSequence& runs) {
    CopyState state{.runs = with_early_updates(problem, graph, runs), .aways = {}};
    std::vector<char> seen(static_cast<std::size_t>(graph.flat.tensor_count), 0);
    for (std::size_t i = 0; i < state.runs.size() && !graph.host.runs.empty(); ++i)
        for (const std::int32_t t : graph.flat.inputs[state.runs[i]])
            if (graph.new_there[t] && !std::exchange(seen[t], 1))
                state.aways.emplace_back(t, static_cast<std::int32_t>(i));
    for (const HostUpdates::Run& run : graph.host.runs)
        for (const std::int32_t t : run.inputs)
            if (!std::exchange(seen[t], 1)) state.aways.emplace_back(t, state.runs.size());
    return state;
}

namespace {

/// A gap that ends at the run `number` (counted from 0) of the op, or at the end of the step if `op` is -1.
struct Gap {
    std::int32_t tensor = -1, op = -1, number = 0;
};

/// Returns the state of `start_of` with `gaps` added. A gap is left out if it ends at a run of an update on
/// the host, because such a run is not in the sequence. `start_of` has already made the gaps of the tensors
/// that this update reads.
CopyState start_with(const Problem& problem, const CopyGraph& graph, const RunSequence& runs,
                     std::span<const Gap> gaps) {
    CopyState start = start_of(problem, graph, runs);
    std::vector<std::vector<std::int32_t>> places(static_cast<std::size_t>(graph.flat.op_count));
    for (std::size_t i = 0; i < start.runs.size(); ++i)
        places[static_cast<std::size_t>(start.runs[i])].push_back(static_cast<std::int32_t>(i));
    std::set<std::pair<std::int32_t, std::int32_t>> aways(start.aways.begin(), start.aways.end());
    for (const Gap& gap : gaps) {
        if (gap.op < 0) {
            aways.emplace(gap.tensor, static_cast<std::int32_t>(start.runs.size()));
            continue;
        }
        const auto& of_user = places[static_cast<std::size_t>(gap.op)];
        const auto number = static_cast<std::size_t>(gap.number);
        if (number < of_user.size()) aways.emplace(gap.tensor, of_user[number]);
    }
    start.aways.assign(aways.begin(), aways.end());
    return start;
}

}  // namespace

CopyState start_of(const Problem& problem, const CopyGraph& graph, std::span<const Step> steps) {
    RunSequence runs;
    std::vector<Gap> gaps;
    std::vector<std::uint8_t> fetched(problem.graph.tensors.size(), 0), here(fetched);
    std::vector<std::uint8_t> leaves(graph.residents.size(), 0);
    std::vector<std::int32_t> seen(static_cast<std::size_t>(graph.flat.op_count), 0);
    for (const Step& step : steps) {
        if (step.runs()) {
            const std::int32_t number = seen[static_cast<std::size_t>(step.id)]++;
            for (const std::int32_t version : graph.flat.inputs[step.id])
                if (std::exchange(fetched[static_cast<std::size_t>(graph.real[version])], 0) &&
                    graph.may_leave[version])
                    gaps.push_back({version, step.id, number});
            for (const std::int32_t version : graph.flat.outputs[step.id]) {
                const auto t = static_cast<std::size_t>(graph.real[version]);
                fetched[t] = 0;
                here[t] = 1;
            }
            runs.push_back(step.id);
        } else if (step.names_op()) {
            if (!graph.runs_there(step.id)) runs.push_back(step.id);
        } else {
            const auto t = static_cast<std::size_t>(step.id);
            if (step.kind == StepKind::fetch || step.kind == StepKind::free)
                fetched[t] = here[t] = step.kind == StepKind::fetch;
            if (graph.resident[t] >= 0 && graph.may_leave[t])
                leaves[static_cast<std::size_t>(graph.resident[t])] = 1;
        }
    }
    for (const std::int32_t t : problem.flat.results)
        if ((fetched[static_cast<std::size_t>(t)] || !here[static_cast<std::size_t>(t)]) &&
            graph.resident[t] < 0 && graph.may_leave[t])
            gaps.push_back({t});
    std::vector<std::uint8_t> met(graph.residents.size(), 0);
    for (const std::int32_t op : runs) {
        for (const std::int32_t version : graph.flat.inputs[op]) {
            const std::int32_t resident = graph.resident[version];
            if (resident < 0 || !leaves[static_cast<std::size_t>(resident)] ||
                std::exchange(met[static_cast<std::size_t>(resident)], 1))
                continue;
            const CopyGraph::Resident& versions = graph.residents[static_cast<std::size_t>(resident)];
            gaps.push_back({versions.first, op});
            if (!graph.is_new_there(versions.first)) gaps.push_back({versions.last});
        }
    }
    return start_with(problem, graph, runs, gaps);
}

CopyState start_of(const Problem& problem, const CopyGraph& graph, const CopyGraph& other,
                   const CopyState& state) {
    RunSequence runs = state.runs;
    for (std::int32_t& op : runs)
        if (op >= other.real_ops) op = graph.waits[static_cast<std::size_t>(op - other.waits.front())];
    std::vector<std::int32_t> numbers, seen(static_cast<std::size_t>(graph.flat.op_count), 0);
    for (const std::int32_t op : runs) numbers.push_back(seen[static_cast<std::size_t>(op)]++);
    std::vector<Gap> gaps;
    for (const auto& [tensor, use] : state.aways) {
        const auto run = static_cast<std::size_t>(use);
        gaps.push_back(run == runs.size() ? Gap{tensor} : Gap{tensor, runs[run], numbers[run]});
    }
    return start_with(problem, graph, runs, gaps);
}

}  // namespace rematlas::annealing
