#include "core/solvers/chen/chen.h"

#include <algorithm>
#include <cmath>

#include "core/schedule/run_sequence.h"
#include "core/solving/answers.h"
#include "core/solving/incumbent.h"
#include "core/solving/limits.h"
#include "core/solving/option_reader.h"

namespace rematlas {
namespace {

/// The required forward ops in order. Position i is the i-th of these ops. Cut i is after position i.
struct ForwardPart {
    std::vector<int> ops;
    std::vector<int> position;  ///< per op; -1 if it is not in the forward part
    std::vector<int>
        last_use;  ///< per tensor of the forward part: position of its last forward reader, or of its maker
                   ///< if there is no such reader; -1 for other tensors
    std::vector<int> crossing;       ///< per cut: number of tensors that cross it
    std::vector<std::int64_t> made;  ///< per position: bytes of its outputs
};

ForwardPart forward_part(const Problem& problem) {
    const FlatGraph& flat = problem.flat;
    ForwardPart part;
    part.position.assign(flat.op_count, -1);
    part.last_use.assign(flat.tensor_count, -1);
    for (int op = 0; op < flat.op_count; ++op) {
        if (!flat.required[op] || problem.graph.ops[OpId(op)].phase != Phase::forward) continue;
        const int position = static_cast<int>(part.ops.size());
        part.position[op] = position;
        part.ops.push_back(op);
        part.made.push_back(0);
        for (int t : flat.outputs[op]) {
            part.last_use[t] = position;
            part.made.back() += flat.bytes[t];
        }
        for (int t : flat.inputs[op]) {
            if (part.last_use[t] >= 0) part.last_use[t] = position;
        }
    }
    part.crossing.assign(part.ops.size() + 1, 0);
    for (int op : part.ops) {
        for (int t : flat.outputs[op]) {
            ++part.crossing[part.position[op]];
            --part.crossing[part.last_use[t]];
        }
    }
    for (std::size_t i = 1; i < part.crossing.size(); ++i) part.crossing[i] += part.crossing[i - 1];
    return part;
}

/// Turns cuts into a run sequence.
class SegmentPlan {
  public:
    /// `cuts`: positions in ascending order. Segment s ends after position cuts[s]. The last segment ends
    /// with the forward part.
    SegmentPlan(const FlatGraph& flat, const ForwardPart& part, const std::vector<int>& cuts)
        : flat_(flat),
          part_(part),
          cuts_(cuts),
          segment_(part.ops.size()),
          materialized_(cuts.size() + 1, false),
          dropped_(flat.tensor_count, false),
          needed_(flat.tensor_count, false) {
        materialized_.back() = true;
        for (std::size_t i = 0, s = 0; i < part.ops.size(); ++i) {
            segment_[i] = static_cast<int>(s);
            if (s < cuts.size() && cuts[s] == static_cast<int>(i)) ++s;
        }
        for (int op : part.ops) mark_dropped(op);
    }

    RunSequence sequence() {
        for (int op = 0; op < flat_.op_count; ++op) {
            if (!flat_.required[op]) continue;
            if (part_.position[op] < 0) {
                for (int t : flat_.inputs[op]) {
                    if (dropped_[t]) materialize(segment_of(t), op);
                }
            }
            runs_.push_back(op);
        }
        return std::move(runs_);
    }

  private:
    int segment_of(int tensor) const { return segment_[part_.position[flat_.producer[tensor]]]; }

    void mark_dropped(int op) {
        const int segment = segment_[part_.position[op]];
        if (!flat_.recomputable[op] || segment == static_cast<int>(cuts_.size())) return;
        for (int t : flat_.outputs[op]) {
            if (segment_[part_.last_use[t]] != segment) continue;
            dropped_[t] = true;
            // If the backward part reads the tensor, marks it as needed again. `materialize` marks
            // the tensors that ops read when they run again.
            for (int user : flat_.users[t])
                needed_[t] = needed_[t] || (flat_.required[user] && part_.position[user] < 0);
        }
    }

    /// Reruns those ops of a segment that make dropped tensors which are needed. `before` is the op that runs
    /// next; forward ops that run for the first time after `before` are left out.
    void materialize(int segment, int before) {
        if (materialized_[segment]) return;
        materialized_[segment] = true;
        const int first = segment == 0 ? 0 : cuts_[segment - 1] + 1;
        std::vector<int> again;
        for (int i = cuts_[segment]; i >= first; --i) {
            const int op = part_.ops[i];
            const auto outputs = flat_.outputs[op];
            if (op >= before || std::none_of(outputs.begin(), outputs.end(),
                                             [&](int t) { return dropped_[t] && needed_[t]; }))
                continue;
            again.push_back(op);
            for (int t : flat_.inputs[op]) needed_[t] = true;
        }
        runs_.insert(runs_.end(), again.rbegin(), again.rend());
    }

    const FlatGraph& flat_;
    const ForwardPart& part_;
    const std::vector<int>& cuts_;
    std::vector<int> segment_;  ///< per position
    std::vector<bool> materialized_, dropped_, needed_;
    RunSequence runs_;
};

/// Returns the positions at which a cut is allowed. At most one tensor crosses a cut at an articulation
/// point; if none does, the graph falls into two parts there.
std::vector<int> allowed_cuts(const ForwardPart& part, bool articulation_points_only) {
    std::vector<int> cuts;
    for (int i = 0; i + 1 < static_cast<int>(part.ops.size()); ++i) {
        if (!articulation_points_only || part.crossing[i] <= 1) cuts.push_back(i);
    }
    return cuts;
}

/// Returns the allowed cuts that are nearest to cuts into segments of equal length.
std::vector<int> equal_segments(int forward_ops, int segments, const std::vector<int>& allowed) {
    std::vector<int> cuts;
    for (int s = 1; s < segments && !allowed.empty(); ++s) {
        const int target = static_cast<int>(static_cast<std::int64_t>(forward_ops) * s / segments) - 1;
        auto at = std::lower_bound(allowed.begin(), allowed.end(), target);
        if (at == allowed.end() || (at != allowed.begin() && target - *(at - 1) < *at - target)) --at;
        if (cuts.empty() || *at > cuts.back()) cuts.push_back(*at);
    }
    return cuts;
}

/// Returns cuts such that each segment ends at the first allowed cut after it has made more than `threshold`
/// bytes.
std::vector<int> segments_by_bytes(const ForwardPart& part, std::int64_t threshold,
                                   const std::vector<int>& allowed) {
    std::vector<int> cuts;
    std::int64_t made = 0;
    std::size_t next = 0;
    for (int i = 0; i < static_cast<int>(part.ops.size()) && next < allowed.size(); ++i) {
        made += part.made[i];
        if (allowed[next] != i) continue;
        ++next;
        if (made <= threshold) continue;
        cuts.push_back(i);
        made = 0;
    }
    return cuts;
}

/// Computes the cost of the run sequences that cuts lead to, and keeps the best that fits the budget.
class Selection {
  public:
    Selection(const Problem& problem, const ForwardPart& part, Bytes budget, const Deadline& deadline,
              const Progress& progress)
        : graph_(problem.flat), part_(part), deadline_(deadline), best_(graph_, budget, deadline, progress) {
        best_.note_peak(Bytes(cost_of(graph_, required_once(graph_)).peak));
    }

    void offer(const std::vector<int>& cuts) {
        if (!cuts.empty()) best_.offer(Candidate::of(graph_, SegmentPlan(graph_, part_, cuts).sequence()));
    }

    bool stopped() const { return deadline_.passed(); }
    Answer answer() const { return best_.answer(); }

  private:
    const FlatGraph& graph_;
    const ForwardPart& part_;
    const Deadline& deadline_;
    Incumbent best_;
};

Answer solve_by_chen_sqrt(const Problem& problem, Bytes budget, const Limits& limits,
                          const Progress& progress, const ChenSqrtOptions& options) {
    const Deadline deadline(limits);
    if (auto solution = optimal_without_reruns(problem.flat, budget)) return *solution;
    const ForwardPart part = forward_part(problem);
    const int count = static_cast<int>(part.ops.size());
    const int segments =
        options.segments > 0 ? options.segments : static_cast<int>(std::lround(std::sqrt(count)));
    Selection selection(problem, part, budget, deadline, progress);
    for (bool articulation_points_only : {true, false}) {
        if (!selection.stopped())
            selection.offer(equal_segments(count, segments, allowed_cuts(part, articulation_points_only)));
    }
    return selection.answer();
}

Answer solve_by_chen_greedy(const Problem& problem, Bytes budget, const Limits& limits,
                            const Progress& progress, const ChenGreedyOptions& options) {
    const Deadline deadline(limits);
    if (auto solution = optimal_without_reruns(problem.flat, budget)) return *solution;
    const ForwardPart part = forward_part(problem);
    std::int64_t total = 0, least = 0;
    for (std::int64_t bytes : part.made) {
        total += bytes;
        if (bytes > 0) least = least == 0 ? bytes : std::min(least, bytes);
    }
    Selection selection(problem, part, budget, deadline, progress);
    for (bool articulation_points_only : {true, false}) {
        const std::vector<int> allowed = allowed_cuts(part, articulation_points_only);
        std::vector<int> last;
        for (int i = 0; i < options.thresholds && !selection.stopped(); ++i) {
            const double share = options.thresholds == 1 ? 0.5 : i / (options.thresholds - 1.0);
            const double threshold = std::max<double>(least, 1) *
                                     std::pow(std::max(1.0, total / std::max<double>(least, 1)), share);
            std::vector<int> cuts = segments_by_bytes(part, static_cast<std::int64_t>(threshold), allowed);
            if (cuts == last) continue;
            selection.offer(cuts);
            last = std::move(cuts);
        }
    }
    return selection.answer();
}

}  // namespace

void read_options(OptionReader& reader, ChenSqrtOptions& options) {
    reader.integer("segments", options.segments, 0, 1000000);
}

void read_options(OptionReader& reader, ChenGreedyOptions& options) {
    reader.integer("thresholds", options.thresholds, 1, 100000);
}

std::unique_ptr<Solver> make_chen_sqrt(ChenSqrtOptions options) {
    return std::make_unique<FunctionSolver<ChenSqrtOptions>>(chen_sqrt_solver, solve_by_chen_sqrt, options);
}
std::unique_ptr<Solver> make_chen_greedy(ChenGreedyOptions options) {
    return std::make_unique<FunctionSolver<ChenGreedyOptions>>(chen_greedy_solver, solve_by_chen_greedy,
                                                               options);
}

constinit const SolverEntry chen_sqrt_solver = solver_entry<ChenSqrtOptions, make_chen_sqrt>(
    {.name = "chen-sqrt",
     .summary = "about sqrt(n) equal segments, whatever the budget (Chen et al. 2016); heuristic",
     .compared = true});

constinit const SolverEntry chen_greedy_solver = solver_entry<ChenGreedyOptions, make_chen_greedy>(
    {.name = "chen-greedy",
     .summary = "segments by a threshold of bytes, the best of many (Chen et al. 2016); heuristic",
     .compared = true});

}  // namespace rematlas
