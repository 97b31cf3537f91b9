#include <glpk.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "core/milp/libraries.h"

namespace rematlas {
namespace {

using Clock = std::chrono::steady_clock;

struct Delete {
    void operator()(glp_prob* problem) const { glp_delete_prob(problem); }
};
using GlpkProblem = std::unique_ptr<glp_prob, Delete>;

/// GLPK keeps an environment for each thread that calls it. The thread must free the environment itself.
struct ThreadEnvironment {
    ~ThreadEnvironment() { glp_free_env(); }
};

int bounds_type(double lower, double upper) {
    if (lower == upper) return GLP_FX;
    const bool below = std::isfinite(lower), above = std::isfinite(upper);
    return below && above ? GLP_DB : below ? GLP_LO : above ? GLP_UP : GLP_FR;
}

GlpkProblem make_problem(const MilpModel& model, bool relaxed) {
    GlpkProblem problem(glp_create_prob());
    glp_set_obj_dir(problem.get(), GLP_MIN);
    glp_set_obj_coef(problem.get(), 0, model.offset);
    if (!model.columns.empty()) glp_add_cols(problem.get(), static_cast<int>(model.columns.size()));
    for (std::size_t i = 0; i < model.columns.size(); ++i) {
        const MilpColumn& column = model.columns[i];
        const int at = static_cast<int>(i) + 1;
        if (column.integer && !relaxed) glp_set_col_kind(problem.get(), at, GLP_IV);
        glp_set_col_bnds(problem.get(), at, bounds_type(column.lower, column.upper), column.lower,
                         column.upper);
        glp_set_obj_coef(problem.get(), at, column.cost);
    }
    if (model.rows() > 0) glp_add_rows(problem.get(), static_cast<int>(model.rows()));
    std::vector<int> index;  // GLPK counts from 1, so the first entries of `index` and `value` are not read
    std::vector<double> value;
    for (std::size_t row = 0; row < model.rows(); ++row) {
        const int at = static_cast<int>(row) + 1, begin = model.row_begin[row],
                  count = model.row_begin[row + 1] - begin;
        glp_set_row_bnds(problem.get(), at, bounds_type(model.row_lower[row], model.row_upper[row]),
                         model.row_lower[row], model.row_upper[row]);
        index.assign(1, 0);
        value.assign(1, 0);
        for (int k = 0; k < count; ++k) {
            index.push_back(model.index[begin + k] + 1);
            value.push_back(model.value[begin + k]);
        }
        glp_set_mat_row(problem.get(), at, count, index.data(), value.data());
    }
    return problem;
}

int milliseconds_until(Clock::time_point end) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 1, 1'000'000'000));
}

std::vector<double> values_of(glp_prob* problem, double (*value)(glp_prob*, int)) {
    std::vector<double> values;
    for (int i = 1; i <= glp_get_num_cols(problem); ++i) values.push_back(value(problem, i));
    return values;
}

/// Runs the simplex method in slices. After each slice it looks for stop requests and reports the bound. The
/// slices get longer, because each slice starts again with new factors, weights and perturbation: with short
/// slices a degenerate relaxation would never be solved.
bool solve_relaxation(glp_prob* problem, const MilpLimits& limits, Clock::time_point end) {
    glp_smcp control;
    glp_init_smcp(&control);
    control.msg_lev = GLP_MSG_OFF;
    control.meth = GLP_DUALP;
    glp_scale_prob(problem, GLP_SF_AUTO);
    glp_adv_basis(problem, 0);
    const Clock::time_point start = Clock::now();
    while (!limits.stop.stop_requested() && Clock::now() < end) {
        const Clock::time_point now = Clock::now();
        control.tm_lim =
            std::min(std::max(50, milliseconds_until(now + (now - start) / 2)), milliseconds_until(end));
        const int ended = glp_simplex(problem, &control);
        if (limits.progress && glp_get_dual_stat(problem) == GLP_FEAS)
            limits.progress({.values = {}, .bound = glp_get_obj_val(problem)});
        if (ended == 0) return true;
        if (ended != GLP_ETMLIM) return false;
    }
    return false;
}

struct Watch {
    const MilpLimits& limits;
    double bound = -kInfinite;
    std::int64_t nodes = 0;

    static void call(glp_tree* tree, void* user) {
        auto& watch = *static_cast<Watch*>(user);
        if (watch.limits.stop.stop_requested()) return glp_ios_terminate(tree);
        int total = 0;
        glp_ios_tree_size(tree, nullptr, nullptr, &total);
        watch.nodes = total;
        if (const int best = glp_ios_best_node(tree); best > 0)
            watch.bound = std::max(watch.bound, glp_ios_node_bound(tree, best));
        if (glp_ios_reason(tree) == GLP_IHEUR && watch.nodes == 1 && !watch.limits.start.empty()) {
            std::vector<double> start(1);
            start.insert(start.end(), watch.limits.start.begin(), watch.limits.start.end());
            glp_ios_heur_sol(tree, start.data());
        }
        if (!watch.limits.progress) return;
        if (glp_ios_reason(tree) == GLP_IBINGO) {
            const std::vector<double> values = values_of(glp_ios_get_prob(tree), glp_get_col_prim);
            watch.limits.progress({.values = values, .bound = watch.bound, .nodes = watch.nodes});
        } else if (glp_ios_reason(tree) == GLP_ISELECT) {
            watch.limits.progress({.values = {}, .bound = watch.bound, .nodes = watch.nodes});
        }
    }
};

MilpAnswer relaxed_answer(glp_prob* problem, bool solved) {
    MilpAnswer answer;
    if (!solved) return answer;
    if (glp_get_status(problem) == GLP_OPT) {
        answer.status = MilpStatus::optimal;
        answer.values = values_of(problem, glp_get_col_prim);
        answer.objective = answer.bound = glp_get_obj_val(problem);
        for (int row = 1; row <= glp_get_num_rows(problem); ++row)
            answer.multipliers.push_back(glp_get_row_dual(problem, row));
    } else if (glp_get_status(problem) == GLP_NOFEAS || glp_get_prim_stat(problem) == GLP_NOFEAS ||
               glp_get_dual_stat(problem) == GLP_NOFEAS) {
        answer.status = MilpStatus::infeasible;
        answer.bound = kInfinite;
    }
    return answer;
}

}  // namespace

Result<MilpAnswer> solve_by_glpk(const MilpModel& model, const MilpLimits& limits) {
    const Clock::time_point end = Clock::now() + limits.time;
    const ThreadEnvironment environment;  // must outlive the problem
    glp_term_out(GLP_OFF);
    const GlpkProblem problem = make_problem(model, limits.relaxed);
    const bool solved = solve_relaxation(problem.get(), limits, end);
    MilpAnswer answer = relaxed_answer(problem.get(), solved);
    if (limits.relaxed || answer.status != MilpStatus::optimal) return answer;

    Watch watch{limits, answer.bound};
    answer = {.status = MilpStatus::unknown, .values = {}, .bound = answer.bound};
    glp_iocp control;
    glp_init_iocp(&control);
    control.msg_lev = GLP_MSG_OFF;
    control.mip_gap = limits.relative_gap;
    control.tm_lim = milliseconds_until(end);
    control.br_tech = GLP_BR_PCH;
    control.gmi_cuts = control.mir_cuts = GLP_ON;
    control.fp_heur = GLP_OFF;
    control.cb_func = &Watch::call;
    control.cb_info = &watch;
    const int ended = glp_intopt(problem.get(), &control);
    if (ended != 0 && ended != GLP_ETMLIM && ended != GLP_ESTOP && ended != GLP_EMIPGAP)
        return Error{"GLPK failed on the model (code " + std::to_string(ended) + ")"};
    const int status = glp_mip_status(problem.get());
    answer.nodes = watch.nodes;
    answer.bound = watch.bound;
    if (status == GLP_NOFEAS) {
        answer.status = MilpStatus::infeasible;
        answer.bound = kInfinite;
    } else if (status == GLP_OPT || status == GLP_FEAS) {
        answer.objective = glp_mip_obj_val(problem.get());
        answer.values = values_of(problem.get(), glp_mip_col_val);
        const bool optimal = ended == 0 || ended == GLP_EMIPGAP;
        answer.status = optimal ? MilpStatus::optimal : MilpStatus::feasible;
        if (ended == 0) answer.bound = answer.objective - std::abs(answer.objective) * limits.relative_gap;
        answer.bound = std::min(std::max(answer.bound, watch.bound), answer.objective);
    }
    return answer;
}

}  // namespace rematlas
