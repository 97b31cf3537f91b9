// A linear program that decides, for a sequence of runs, in which gaps tensors are on the host. A gap is the
// time between two runs that make or use the tensor. The solution is rounded to whole tensors.
//
//     const AwayProgramme programme(flat, lives, {.links = links, .budget = budget});
//     const Result<MilpAnswer> answer = solve_milp(library, programme.milp(), {});
//     programme.rounded(answer->values);         // a decision for each gap
//
// A tensor is away while it is on the host and not on the device. The runs are cut into stages with equal
// numbers of runs; the start and the end of the step have a stage each. Gaps that begin and end in the same
// stages form one item, and any fraction of an item may be away (copy_flows.h has the rows). Residents that
// are touched in the same stages form a group, and a fraction of the group lives on the host. This fraction
// is away at the start and after the group's last event. Until a resident is changed, it need not be copied
// to the host. If it is never changed, the host has a copy in any case. Tensors whose last readers are ops on
// the host leave the device for good. The training step lasts at least until the host is done: the stages
// after a host op's stage take at least the time of this op and of all later host ops. The memory of a stage
// is the most that its runs need if all tensors stay, minus the bytes that are away. Rounding sends whole
// tensors away, of each item at least the solution's fraction, so the budget is kept exactly.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/links.h"
#include "core/milp/milp.h"
#include "core/solvers/offmate/copy_flows.h"
#include "core/solvers/offmate/lifetimes.h"

namespace rematlas::offmate {

struct AwayLimits {
    Links links;
    std::int64_t budget = 0;
    std::optional<std::int64_t> host_budget = {};
    std::int64_t least_copy = 0;  ///< bytes; smaller tensors stay on the device
    int most_stages = 150;
    double price = 0.01;  ///< in the objective, a second of copying counts as this many seconds
};

class AwayProgramme {
  public:
    /// `flat` and `lives` must outlive the object. Cost: linear.
    AwayProgramme(const FlatGraph& flat, const Lifetimes& lives, const AwayLimits& limits);

    /// No column is integer. The program is infeasible if no fractions fit the budget.
    const MilpModel& milp() const { return milp_; }

    /// Rounds a solution to whole tensors. Returns, by gap, whether the tensor is away. Of each item, at
    /// least as many bytes are away as in the solution.
    std::vector<char> rounded(std::span<const double> values) const;

  private:
    /// Gaps of different tensors that share one column: the fraction of `bytes` that is away.
    struct Item {
        int column = -1;
        std::vector<std::int32_t> gaps;
        std::int64_t bytes = 0;
    };

    int stages() const { return run_stages_ + 2; }
    int stage_of(int run) const;  ///< `run` can also be kStart, or `run_count()` for the end of the step
    bool may_leave(const Gap& gap) const;
    int add_item(std::vector<std::int32_t> gaps);
    void add_made();
    void add_read_on_host();
    void add_host_work(const std::vector<int>& time);
    void add_residents();
    void add_group(const std::vector<std::vector<std::int32_t>>& gaps_of);
    MilpSum bytes_of(int item) const;
    std::vector<CopyFlows::Stage> needs() const;

    const FlatGraph& flat_;
    const Lifetimes& lives_;
    const AwayLimits limits_;
    int run_stages_ = 0;
    double byte_scale_ = 1, time_scale_ = 1;
    MilpModel milp_;
    std::vector<Item> items_;
    std::vector<CopyFlows::Item> flows_;
    std::vector<std::pair<int, std::int64_t>> leaving_for_good_;  ///< (stage, bytes that leave for good after
                                                                  ///< the stage)
    MilpSum on_host_;
};

}  // namespace rematlas::offmate
