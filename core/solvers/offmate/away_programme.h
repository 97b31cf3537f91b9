// A linear programme, rounded, that decides which tensors of a sequence of runs are away from the device
// between which of their events.
//
//     const AwayProgramme programme(flat, lives, {.links = links, .budget = budget});
//     const Result<MilpAnswer> answer = solve_milp(library, programme.milp(), {});
//     programme.rounded(answer->values);         // a decision for each gap
//
// The runs are cut into stages of equal numbers of runs. A stage for the start comes before them and a stage
// for the end after them. Gaps that begin and end in the same stages form one item, of which any fraction
// may be away (copy_flows.h has the rows). Residents that are touched in the same stages form a group, of
// which a fraction lives on the host. That fraction is away at the start and after its last event, and it
// needs no copy to the host before it is changed. A resident that is never changed has a copy on the host in
// any case. Tensors that ops on the host read leave for good. A step lasts at least until the host is done:
// the stages from each of its ops on take at least the time of all host ops that are left then. The memory
// of a stage is the most that its runs need if all tensors stay, less the bytes that are away. Rounding up
// therefore keeps the budget to the byte: of each item whole tensors are away, at least its fraction.
#pragma once

#include <cstdint>
#include <memory>
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
    std::int64_t least_copy = 0;  ///< bytes: smaller tensors stay
    int most_stages = 150;
    double price = 0.01;  ///< of link time, as a share of time
};

class AwayProgramme {
  public:
    /// `flat` and `lives` must outlive it. Cost: linear.
    AwayProgramme(const FlatGraph& flat, const Lifetimes& lives, const AwayLimits& limits);

    /// No column is integer. Infeasible where no fractions keep the budget.
    const MilpModel& milp() const { return milp_; }

    /// By gap: whether it is away at a point of the programme. Of each item at least as many bytes are away
    /// as its fraction says.
    std::vector<char> rounded(std::span<const double> values) const;

  private:
    /// Gaps of which a fraction is away, one for each tensor.
    struct Item {
        int column = -1;
        std::vector<std::int32_t> gaps;
        std::int64_t bytes = 0;
    };

    int stages() const { return run_stages_ + 2; }
    int stage_of(int run) const;  ///< `run` may also be kStart, or the number of runs for the end
    bool may_leave(const Gap& gap) const;
    int add_item(std::vector<std::int32_t> gaps);
    void add_made();
    void add_read_on_host();
    void add_host_work(const std::vector<int>& time);
    void add_residents();
    void add_group(const std::vector<std::vector<std::int32_t>>& gaps_of);
    Sum bytes_of(int item) const;
    std::vector<CopyFlows::Stage> needs() const;

    const FlatGraph& flat_;
    const Lifetimes& lives_;
    const AwayLimits limits_;
    int run_stages_ = 0;
    double byte_scale_ = 1, time_scale_ = 1;
    MilpModel milp_;
    std::vector<Item> items_;
    std::vector<CopyFlows::Item> flows_;
    std::vector<std::pair<int, std::int64_t>> leaving_for_good_;  ///< a stage, and the bytes that leave
                                                                  ///< after it
    Sum on_host_;
};

}  // namespace rematlas::offmate
