// Checkmate's programme: which op runs and which tensor is kept in each stage, where stage t ends with the
// first run of the t-th op.
//
//     StagedModel model(flat, budget, {.below = best_time});
//     solve_milp(MilpLibrary::highs, model.milp(), ...);
//     RunSequence runs = model.decode(answer.values);
//
//     StagedModel least(flat, known_peak, {.most_time = time});   // minimizes the peak instead of the time
//
// Source: Jain et al., "Checkmate: Breaking the Memory Wall with Optimal Tensor Rematerialization" (MLSys
// 2020), equations 1 to 9, and the form in which the paper maximizes the batch: the largest of all sums of
// bytes is minimized within a limit on the time. Here
// - a tensor is freed at most once a stage, in a continuous variable F tied to its stage row by row, so that
//   only R (runs) and S (kept) are binary and the relaxation is tight;
// - the rows say more: a user runs only where the tensor is present after all frees before it;
// - workspaces, ops with several outputs, resident tensors, results and runs in place are counted as the
//   checker counts them;
// - variables that no better schedule can use do not exist: reruns that cost more than what is to be gained,
//   reruns that serve nothing later, tensors that must or cannot be kept.
// The class: ops first run in the graph's order; reruns of a stage in that order too, each at most once; an
// op does not run in a stage that begins with one of its outputs.
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

/// Required ops beyond which the programme seldom gets far: the time is then better spent on its start.
constexpr std::size_t kLargeProgramme = 120;

/// The largest error of a bound that a library gives in doubles, as a share of the bound.
constexpr double kBoundRounding = 1e-7;

/// Bytes held beside the tensors of the graph: while reruns of a stage run, while its first run does, and at
/// most between that and the next stage.
struct StageBytes {
    std::int64_t before = 0, during = 0, after = 0;
};

struct StagedModelOptions {
    /// Schedules of at least this time are of no interest and may be left out; nanoseconds.
    std::int64_t below = std::numeric_limits<std::int64_t>::max();
    /// If there is a value, the peak is minimized among the schedules of at most this time, nanoseconds, and
    /// `below` is not used. Else the time is minimized within the budget.
    std::optional<std::int64_t> most_time = {};
    /// By stage; empty if nothing is held beside the tensors of the graph.
    std::span<const StageBytes> held = {};
    std::stop_token stop = {};  ///< ends the construction; the model is of no use then
};

class StagedModel {
  public:
    /// Whether the graph has at most 600 required ops. With more, the programme would have millions of
    /// columns, and no library gets anywhere.
    static bool fits(const FlatGraph& graph);

    /// The largest number of bytes of which all tensors beside the residents, and all workspaces, are
    /// multiples; at least 1.
    static std::int64_t byte_unit(const FlatGraph& graph);

    /// Cost: about (ops squared + ops times uses) columns and as many rows. Times are scaled so that the step
    /// without recomputation is 1,000, bytes so that the budget less the residents is 1,000.
    StagedModel(const FlatGraph& graph, std::int64_t budget, const StagedModelOptions& options = {});

    const MilpModel& milp() const { return milp_; }

    /// Nanoseconds of the schedule with that objective.
    double time_of(double objective) const { return objective / time_scale_; }
    /// The peak of the schedule with that objective, bytes, if the peak is minimized.
    double peak_of(double objective) const {
        return static_cast<double>(graph_.resident_bytes) + objective / byte_scale_;
    }

    /// The runs that an integer solution stands for.
    RunSequence decode(std::span<const double> values) const;

    /// The runs that follow from the tensors that the values keep. A tensor is kept where its S is positive
    /// and at least `threshold`, which may differ per tensor, and as few ops as possible run for that.
    /// Nothing when an op would run again that must not.
    std::optional<RunSequence> round(std::span<const double> values,
                                     const std::vector<double>& threshold) const;

    std::size_t tensors() const { return tensors_.size(); }
    /// The values of all S that are columns.
    std::vector<double> kept_shares(std::span<const double> values) const;

    /// A point of the model for a sequence of runs, reruns sorted within their stage; nothing when the
    /// sequence is not of the class or uses a variable that was left out.
    std::optional<std::vector<double>> encode(const RunSequence& runs) const;

  private:
    /// A variable that may be known: a column, or 0 or 1.
    struct Variable {
        int column = -1;
        double constant = 0;
    };
    struct Row;
    struct Tensor {
        int id;                  ///< in the graph
        int maker;               ///< place of its op
        std::vector<int> users;  ///< places, ascending
        std::int64_t bytes;
        bool result;
        int last_first_use;  ///< last place that reads it for sure, -1 if none
        int last_use;        ///< last stage in which anything may read it, number of places for results
    };

    /// A run in place of an op with several pairs: 1 only where all that it writes over is freed.
    struct InPlace {
        int column;
        std::vector<int> freed;  ///< columns
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
    Variable freed(int stage, int tensor, int use) const;  ///< use 0: after its maker, then its users
    Variable freed_after(int stage, int tensor, int place) const;

    const FlatGraph& graph_;
    std::int64_t unit_;  ///< byte_unit
    std::int64_t room_;  ///< the budget less the residents, rounded down to `unit_` where that loses nothing
    double time_scale_, byte_scale_;
    Variable most_alive_;        ///< the upper limit of all memory rows: the budget, or the peak's column
    std::vector<int> ops_;       ///< by place
    std::vector<int> place_of_;  ///< by op: place, or -1
    std::vector<Tensor> tensors_;
    std::vector<std::vector<int>> reads_, makes_;  ///< per place: tensors
    std::vector<int> last_rerun_;                  ///< per place: last stage that may run it again
    std::vector<std::vector<int>> run_columns_;    ///< [stage][place], -1
    std::vector<std::vector<int>> kept_columns_;   ///< [stage][tensor], -1
    std::vector<std::vector<std::vector<int>>> freed_columns_;  ///< [stage][tensor][use], -1; empty if none
    std::vector<std::vector<int>> alive_columns_;               ///< [stage][place]: bytes after it
    std::vector<InPlace> in_place_;
    MilpModel milp_;
};

}  // namespace rematlas
