#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include <interfaces/highs_c_api.h>
#pragma GCC diagnostic pop

#include <algorithm>
#include <memory>

#include "core/milp/libraries.h"

namespace rematlas {
namespace {

struct Destroy {
    void operator()(void* highs) const { Highs_destroy(highs); }
};

/// Holds the function that the library calls while it works.
struct Watch {
    const MilpLimits& limits;

    static void call(int kind, const char*, const HighsCallbackDataOut* out, HighsCallbackDataIn* in,
                     void* user) {
        const auto& watch = *static_cast<const Watch*>(user);
        if (in) in->user_interrupt = watch.limits.stop.stop_requested();
        const bool solved = kind == kHighsCallbackMipImprovingSolution && out->mip_solution;
        if (!watch.limits.progress || (!solved && kind != kHighsCallbackMipInterrupt)) return;
        std::span<const double> values;
        if (solved) values = {out->mip_solution, static_cast<std::size_t>(out->mip_solution_size)};
        watch.limits.progress({.values = values, .bound = out->mip_dual_bound, .nodes = out->mip_node_count});
    }
};

Result<void> pass(void* highs, const MilpModel& model, bool relaxed) {
    std::vector<double> cost, lower, upper;
    std::vector<HighsInt> integer;
    for (const MilpColumn& column : model.columns) {
        cost.push_back(column.cost);
        lower.push_back(column.lower);
        upper.push_back(column.upper);
        integer.push_back(column.integer && !relaxed ? kHighsVarTypeInteger : kHighsVarTypeContinuous);
    }
    const HighsInt passed = Highs_passMip(
        highs, static_cast<HighsInt>(model.columns.size()), static_cast<HighsInt>(model.rows()),
        static_cast<HighsInt>(model.index.size()), kHighsMatrixFormatRowwise, kHighsObjSenseMinimize,
        model.offset, cost.data(), lower.data(), upper.data(), model.row_lower.data(), model.row_upper.data(),
        model.row_begin.data(), model.index.data(), model.value.data(), integer.data());
    if (passed == kHighsStatusError) return Error{"HiGHS refuses the model"};
    return {};
}

void configure(void* highs, const MilpLimits& limits) {
    Highs_setBoolOptionValue(highs, "output_flag", 0);
    Highs_setDoubleOptionValue(highs, "time_limit", std::chrono::duration<double>(limits.time).count());
    Highs_setDoubleOptionValue(highs, "mip_rel_gap", limits.relative_gap);
    Highs_setDoubleOptionValue(highs, "mip_abs_gap", 0);
    Highs_setDoubleOptionValue(highs, "mip_feasibility_tolerance", 1e-9);
    Highs_setDoubleOptionValue(highs, "primal_feasibility_tolerance", 1e-9);
    Highs_setIntOptionValue(highs, "threads", limits.threads);
    if (limits.threads == 1) Highs_setStringOptionValue(highs, "parallel", "off");
    Highs_setIntOptionValue(highs, "random_seed", static_cast<HighsInt>(limits.seed & 0x7fffffff));
}

MilpAnswer read_answer(void* highs, const MilpModel& model, bool relaxed) {
    MilpAnswer answer;
    const HighsInt status = Highs_getModelStatus(highs);
    if (status == kHighsModelStatusInfeasible) {
        answer.status = MilpStatus::infeasible;
        answer.bound = kInfinite;
        return answer;
    }
    HighsInt primal = kHighsSolutionStatusNone;
    std::vector<double> row_dual(model.rows());
    Highs_getIntInfoValue(highs, "primal_solution_status", &primal);
    if (primal == kHighsSolutionStatusFeasible) {
        answer.status = status == kHighsModelStatusOptimal ? MilpStatus::optimal : MilpStatus::feasible;
        std::vector<double> unused(model.columns.size()), row(model.rows());
        answer.values.resize(model.columns.size());
        Highs_getSolution(highs, answer.values.data(), unused.data(), row.data(), row_dual.data());
        answer.objective = Highs_getObjectiveValue(highs);
    }
    const bool linear = std::none_of(model.columns.begin(), model.columns.end(),
                                     [](const MilpColumn& column) { return column.integer; });
    if (relaxed || linear) {
        if (answer.status == MilpStatus::optimal) answer.bound = answer.objective;
        if (relaxed && answer.status == MilpStatus::optimal) answer.multipliers = std::move(row_dual);
    } else {
        Highs_getDoubleInfoValue(highs, "mip_dual_bound", &answer.bound);
        Highs_getInt64InfoValue(highs, "mip_node_count", &answer.nodes);
        answer.nodes = std::max<std::int64_t>(answer.nodes, 0);  // HiGHS returns -1 if there was no node
    }
    return answer;
}

}  // namespace

Result<MilpAnswer> solve_by_highs(const MilpModel& model, const MilpLimits& limits) {
    const std::unique_ptr<void, Destroy> highs(Highs_create());
    configure(highs.get(), limits);
    if (Result<void> passed = pass(highs.get(), model, limits.relaxed); !passed) return passed.error();
    Watch watch{limits};
    Highs_setCallback(highs.get(), &Watch::call, &watch);
    for (HighsInt kind : {kHighsCallbackSimplexInterrupt, kHighsCallbackIpmInterrupt,
                          kHighsCallbackMipInterrupt, kHighsCallbackMipImprovingSolution}) {
        Highs_startCallback(highs.get(), kind);
    }
    if (!limits.start.empty()) Highs_setSolution(highs.get(), limits.start.data(), nullptr, nullptr, nullptr);
    if (Highs_run(highs.get()) == kHighsStatusError) return Error{"HiGHS failed on the model"};
    return read_answer(highs.get(), model, limits.relaxed);
}

}  // namespace rematlas
