// Checkmate's integer program: it decides which ops run and which tensors are kept in each stage. Stage t
// ends with the first run of the t-th op.
//
//     StagedModel model(flat, budget, {.below = best_time});
//     solve_milp(MilpLibrary::highs, model.milp(), ...);
//     RunSequence runs = model.decode(answer.values);
//
//     StagedModel least(flat, known_peak, {.most_time = time});   // minimizes the peak instead of the time
//
// Source: Jain et al., "Checkmate: Breaking the Memory Wall with Optimal Tensor Rematerialization" (MLSys
// 2020), equations 1 to 9, and the form of the program for the largest batch, in which the peak is minimized
// under a limit on the time. Differences:
// - A tensor is freed at most once in each stage. The variable F for this is continuous, and each condition
//   on it is a row of its own. So only R (runs) and S (kept) are binary, and the relaxation is tight.
// - The rows are stronger: an op runs only if each tensor that it reads is present after all earlier frees.
// - Workspaces, ops with several outputs, residents, results and runs in place count as in the checker.
// - There are no variables for reruns that cost more than can be gained, for reruns that no later op needs,
//   and for tensors that must be kept or cannot be kept.
// The class of schedules: ops first run in the graph's order. Reruns of a stage are in that order too, each
// at most once. An op does not run in a stage if one of its outputs exists when the stage begins.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "core/graph/flat_graph.h"
#include "core/milp/milp.h"
#include "core/schedule/run_sequence.h"

namespace rematlas {

/// With more required ops than this, the search of the integer program seldom gets far. Solvers then spend
/// more time on its start solution.
constexpr std::size_t kLargeProgramme = 120;

/// The largest error of a bound that a library computes in doubles, as a share of the bound.
constexpr double kBoundRounding = 1e-7;

/// Bytes that are held in a stage in addition to the tensors of the graph. `before`: during the reruns of the
/// stage. `during`: during its first run of an op. `after`: the most between that run and the next stage.
struct StageBytes {
    std::int64_t before = 0, during = 0, after = 0;
};

struct StagedModelOptions {
    /// Nanoseconds. The model need not contain schedules that take this time or longer.
    std::int64_t below = std::numeric_limits<std::int64_t>::max();
    /// Nanoseconds. With a value, the peak is minimized among the schedules that take at most this time, and
    /// `below` is ignored. Without a value, the time is minimized within the budget.
    std::optional<std::int64_t> most_time = {};
    /// By stage; empty if only the tensors of the graph are held.
    std::span<const StageBytes> held = {};
    std::stop_token stop = {};  ///< ends the construction; the model must then not be used
};

class StagedModel {
  public:
    /// Says whether the graph has at most 600 required ops. With more, the integer program has millions of
    /// columns, and no library solves it.
    static bool fits(const FlatGraph& graph);

    /// Returns the largest number that divides the bytes of all workspaces and of all tensors except
    /// residents; at least 1.
    static std::int64_t byte_unit(const FlatGraph& graph);

    /// Cost: about (ops squared + ops times uses) columns and as many rows. Times are scaled so that the step
    /// without recomputation takes 1,000. Bytes are scaled so that the budget minus the residents is 1,000.
    StagedModel(const FlatGraph& graph, std::int64_t budget, const StagedModelOptions& options = {});

    const MilpModel& milp() const { return milp_; }

    /// Returns the time in nanoseconds of the schedule that has this objective.
    double time_of(double objective) const { return objective / time_scale_; }
    /// Returns the peak in bytes of the schedule that has this objective. The model must minimize the peak.
    double peak_of(double objective) const {
        return static_cast<double>(graph_.resident_bytes) + objective / byte_scale_;
    }

    /// Returns the runs for an integral solution.
    RunSequence decode(std::span<const double> values) const;

    /// Returns runs that keep tensors as a solution does, and rerun as few ops as possible. A tensor is kept
    /// if its variable S is positive and at least the tensor's entry in `threshold`. Returns nullopt if an op
    /// that may run only once would run again.
    std::optional<RunSequence> round(std::span<const double> values,
                                     const std::vector<double>& threshold) const;

    std::size_t tensors() const { return tensors_.size(); }
    /// Returns the values of all S that are columns.
    std::vector<double> kept_shares(std::span<const double> values) const;

    /// Returns the values of the columns for a sequence of runs, or nullopt if the sequence is not in the
    /// class or uses a variable that was left out. The reruns of each stage are sorted.
    std::optional<std::vector<double>> encode(const RunSequence& runs) const;

  private:
    /// A variable: a column, or the constant 0 or 1 if its value is known.
    struct Variable {
        int column = -1;
        double constant = 0;
    };
    struct Row;
    struct Tensor {
        int id;                  ///< id in the graph
        int maker;               ///< place of the op that makes it
        std::vector<int> users;  ///< places of the ops that read it, in ascending order
        std::int64_t bytes;
        bool result;
        int last_first_use;  ///< place of the last op that reads it; -1 if none
        int last_use;        ///< last stage in which any op can read it; the number of stages for results
    };

    /// An in-place run of an op that overwrites several tensors. The column is 1 only if every tensor that
    /// the run overwrites is freed.
    struct InPlace {
        int column;
        std::vector<int> freed;  ///< columns of the frees that the run needs
    };

    void place_ops();
    void limit_reruns(std::int64_t slack);
    void add_columns();
    void add_time_row(double most);
    void add_stage(int stage, const StageBytes& held);
    void add_balance(int stage, const Tensor& tensor, int index);
    void add_memory(int stage, const StageBytes& held);
    void save_in_place(int stage, int place, Row& during);
    double value(const Variable& variable, std::span<const double> values) const {
        return variable.column < 0 ? variable.constant : values[variable.column];
    }
    Variable run(int stage, int place) const;
    Variable kept(int stage, int tensor) const;
    Variable freed(int stage, int tensor, int use) const;  ///< use 0: freed after the op that makes the
                                                           ///< tensor; use i: after the i-th of `users`
    Variable freed_after(int stage, int tensor, int place) const;

    const FlatGraph& graph_;
    std::int64_t unit_;  ///< result of `byte_unit`
    std::int64_t room_;  ///< the budget minus the residents; a multiple of `unit_` if no other bytes are held
    double time_scale_, byte_scale_;
    Variable most_alive_;        ///< upper limit of all memory rows: the budget, or the column of the peak
    std::vector<int> ops_;       ///< by place: the op
    std::vector<int> place_of_;  ///< by op: its place in `ops_`, or -1
    std::vector<Tensor> tensors_;
    std::vector<std::vector<int>> reads_, makes_;  ///< per place: tensors that the op reads and makes
    std::vector<int> last_rerun_;                  ///< per place: last stage that may rerun the op
    std::vector<std::vector<int>> run_columns_;    ///< [stage][place]: column, or -1
    std::vector<std::vector<int>> kept_columns_;   ///< [stage][tensor]: column, or -1
    std::vector<std::vector<std::vector<int>>> freed_columns_;  ///< [stage][tensor][use]: column, or -1;
                                                                ///< empty if none
    std::vector<std::vector<int>> alive_columns_;               ///< [stage][place]: column of the bytes after
                                                                ///< the op
    std::vector<InPlace> in_place_;
    MilpModel milp_;
};

}  // namespace rematlas
