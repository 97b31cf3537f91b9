#include "core/solvers/dtr/dtr.h"

#include <utility>

#include "core/dtr/eviction_names.h"
#include "core/solving/answers.h"
#include "core/solving/limits.h"
#include "core/solving/option_reader.h"

namespace rematlas {
namespace {

/// The trace of a program that runs the graph. `ops` has the graph's op for each op of the trace, and -1 for
/// the first op of the trace, which stands for the residents.
struct GraphTrace {
    Trace trace;
    std::vector<int> ops;

    explicit GraphTrace(const FlatGraph& flat) : last_use_(flat.tensor_count, -1), made_(flat.tensor_count) {
        trace.constant(flat.resident_bytes);
        ops.push_back(-1);
        for (int op = 0; op < flat.op_count; ++op) {
            if (!flat.required[op]) continue;
            for (int t : flat.inputs[op]) last_use_[t] = op;
            for (int t : flat.outputs[op]) last_use_[t] = op;
        }
        for (int op = 0; op < flat.op_count; ++op) {
            if (flat.required[op]) add(flat, op);
        }
    }

  private:
    void add(const FlatGraph& flat, int op) {
        Trace::Op called{.time = flat.time[op],
                         .workspace = flat.workspace[op],
                         .recomputable = flat.recomputable[op] != 0};
        for (int t : flat.inputs[op]) called.inputs.push_back(made_[t]);
        for (const FlatGraph::Pair& pair : flat.inplace_pairs(op))
            called.in_place.push_back({made_[pair.in], pair.saved});
        std::vector<Trace::Output> outputs;
        for (int t : flat.outputs[op]) outputs.push_back({.bytes = flat.bytes[t]});
        const bool silent = outputs.empty();
        if (silent) outputs.push_back({});
        const std::vector<int> tensors = trace.call(std::move(called), outputs);
        if (silent) trace.release(tensors.front());
        ops.push_back(op);
        for (std::size_t i = 0; i < flat.outputs[op].size(); ++i) made_[flat.outputs[op][i]] = tensors[i];
        release_last_uses(flat, op);
    }

    void release_last_uses(const FlatGraph& flat, int op) {
        for (const auto& list : {flat.inputs[op], flat.outputs[op]}) {
            for (int t : list) {
                if (last_use_[t] != op || flat.is_result[t]) continue;
                trace.release(made_[t]);
            }
        }
        for (int t : flat.outputs[op]) {
            if (flat.is_result[t]) trace.pin(made_[t]);
        }
    }

    std::vector<int> last_use_;  // per tensor of the graph: the last required op that reads or makes it
    std::vector<int> made_;      // per tensor of the graph: its id in the trace
};

std::string reason_of(DtrOutcome::Status status) {
    switch (status) {
        case DtrOutcome::Status::oom:
            return "nothing was left to evict";
        case DtrOutcome::Status::thrash:
            return "it thrashed: reruns took more than its limit";
        default:
            return "it was stopped before the end";
    }
}

Answer solve_by_dtr(const Problem& problem, Bytes budget, const Limits& limits, const Progress& progress,
                    const DtrOptions& options) {
    const Deadline deadline(limits);
    if (auto solution = optimal_without_reruns(problem.flat, budget)) return *solution;
    const auto [outcome, runs] =
        evict_on_graph(problem.flat, budget, options, [&](const DtrOutcome& now, double done) {
            if (progress) progress({now.overhead(), now.peak, {}, done});
            return !deadline.passed();
        });
    if (outcome.status != DtrOutcome::Status::ok) {
        Infeasible none = infeasible_from(problem.flat, budget, std::nullopt);
        none.reason = reason_of(outcome.status);
        return none;
    }
    return solution_from(problem.flat, runs);
}

}  // namespace

GraphEviction evict_on_graph(const FlatGraph& flat, Bytes budget, const DtrOptions& options,
                             const std::function<bool(const DtrOutcome&, double)>& go_on) {
    const GraphTrace program(flat);
    GraphEviction made{.outcome = evict_online(program.trace, budget, options, go_on), .runs = {}};
    for (int op : made.outcome.runs)
        if (program.ops[op] >= 0) made.runs.push_back(program.ops[op]);
    return made;
}

void read_options(OptionReader& reader, DtrOptions& options) {
    reader.choice("heuristic", options.heuristic, kHeuristicNames);
    reader.choice("deallocation", options.deallocation, kDeallocationNames);
    reader.number("thrash", options.thrash, 1, 1e6);
    reader.flag("sample", options.sample);
    reader.flag("ignore_small", options.ignore_small);
    reader.unsigned_integer("seed", options.seed);
}

std::unique_ptr<Solver> make_dtr(DtrOptions options) {
    return std::make_unique<FunctionSolver<DtrOptions>>(dtr_solver, solve_by_dtr, options);
}

constinit const SolverEntry dtr_solver = solver_entry<DtrOptions, make_dtr>(
    {.name = "dtr",
     .summary = "online greedy eviction, simulated (Kirisame et al. 2021); heuristic, any graph",
     .compared = true});

}  // namespace rematlas
