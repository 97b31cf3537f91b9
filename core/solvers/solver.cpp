#include "core/solvers/solver.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/bounds/one_moment.h"
#include "core/schedule/run_sequence.h"
#include "core/solvers/atlas/atlas.h"
#include "core/solvers/checkmate/checkmate.h"
#include "core/solvers/chen.h"
#include "core/solvers/dtr.h"
#include "core/solvers/keep_all.h"
#include "core/solvers/revolve.h"
#include "core/solvers/rotor.h"

namespace rematlas {
namespace {

using nlohmann::json;
using Factory = Result<std::unique_ptr<Solver>> (*)(const json*);

Result<std::unique_ptr<Solver>> keep_all_from(const json* options) {
    if (options && !options->empty())
        return Error{"keep-all: unknown key '" + options->begin().key() + "': it has no options"};
    return make_keep_all();
}

/// Reads the options by `read`, then makes the solver by `make`.
template <auto read, auto make>
Result<std::unique_ptr<Solver>> from(const json* options) {
    const auto parsed = read(options);
    if (!parsed) return parsed.error();
    return make(*parsed);
}

json no_options() {
    return json::object();
}
json chen_sqrt_defaults() {
    return {{"segments", ChenSqrtOptions{}.segments}};
}
json chen_greedy_defaults() {
    return {{"thresholds", ChenGreedyOptions{}.thresholds}};
}
json rotor_defaults() {
    return {{"slots", RotorOptions{}.slots}, {"max_stages", RotorOptions{}.max_stages}};
}
json revolve_defaults() {
    return {{"max_stages", RevolveOptions{}.max_stages}};
}
json dtr_defaults() {
    return {{"heuristic", "dtr-eq"},
            {"deallocation", "eager"},
            {"thrash", DtrOptions{}.thrash},
            {"sample", DtrOptions{}.sample},
            {"ignore_small", DtrOptions{}.ignore_small},
            {"seed", DtrOptions{}.seed}};
}
json checkmate_defaults() {
    const CheckmateOptions o;
    return {{"milp", to_string(o.library)}, {"gap", o.gap}, {"warm_up", o.warm_up}};
}
json checkmate_lp_defaults() {
    const CheckmateLpOptions o;
    return {{"milp", to_string(o.library)}, {"draws", o.draws}, {"seed", o.seed}};
}
json atlas_defaults() {
    const AtlasOptions o;
    return {{"seed", o.seed},
            {"max_moves", o.max_moves},
            {"first_cycle", o.first_cycle},
            {"cycle_growth", o.cycle_growth},
            {"start_temperature", o.start_temperature},
            {"end_temperature", o.end_temperature}};
}

struct Entry {
    std::string_view name;
    Factory make;
    json (*defaults)();
};

constexpr std::array kSolvers = {
    Entry{"atlas", from<atlas_options, make_atlas>, atlas_defaults},
    Entry{"checkmate", from<checkmate_options, make_checkmate>, checkmate_defaults},
    Entry{"checkmate-lp", from<checkmate_lp_options, make_checkmate_lp>, checkmate_lp_defaults},
    Entry{"rotor", from<rotor_options, make_rotor>, rotor_defaults},
    Entry{"dtr", from<dtr_options, make_dtr>, dtr_defaults},
    Entry{"chen-greedy", from<chen_greedy_options, make_chen_greedy>, chen_greedy_defaults},
    Entry{"chen-sqrt", from<chen_sqrt_options, make_chen_sqrt>, chen_sqrt_defaults},
    Entry{"revolve", from<revolve_options, make_revolve>, revolve_defaults},
    Entry{"keep-all", keep_all_from, no_options}};

constexpr auto kNames = [] {
    std::array<std::string_view, kSolvers.size()> names;
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = kSolvers[i].name;
    return names;
}();

/// True when every op must run, so that no schedule can take less time than each op once.
bool all_required(const FlatGraph& graph) {
    for (int op = 0; op < graph.op_count; ++op) {
        if (!graph.required[op] && graph.time[op] > 0) return false;
    }
    return true;
}

}  // namespace

std::span<const std::string_view> solver_names() {
    return kNames;
}

Result<std::unique_ptr<Solver>> make_solver(std::string_view name, const json* options) {
    for (const Entry& entry : kSolvers) {
        if (entry.name == name) return entry.make(options);
    }
    std::string known;
    for (std::string_view other : kNames) known += (known.empty() ? "" : ", ") + std::string(other);
    return Error{"solver '" + std::string(name.substr(0, 60)) + "' is not known; there are: " + known};
}

json default_options(std::string_view name) {
    for (const Entry& entry : kSolvers) {
        if (entry.name == name) return entry.defaults();
    }
    return json::object();
}

Solution solution_from(const FlatGraph& graph, std::span<const std::int32_t> runs) {
    const SequenceCost cost = cost_of(graph, runs);
    Solution solution;
    solution.steps = lower(graph, runs);
    solution.time = Nanoseconds(cost.time);
    solution.peak = Bytes(cost.peak);
    solution.overhead =
        graph.base_time > 0 ? static_cast<double>(cost.time) / static_cast<double>(graph.base_time) : 1.0;
    if (cost.time == graph.base_time && all_required(graph)) {
        solution.status = Status::optimal;
        solution.bound = Bound{1.0, 0.0, kOverheadBoundClass};
    }
    return solution;
}

Infeasible infeasible_from(const FlatGraph& graph, Bytes budget, std::optional<Bytes> smallest_found) {
    const PeakBound bound = least_peak(graph);
    return {bound.bytes, bound.bytes > budget, smallest_found, bound.op, bound.tensors};
}

}  // namespace rematlas
