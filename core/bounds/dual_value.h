// What multipliers prove of a linear programme, in whole numbers: valid whatever made them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/milp/milp.h"

namespace rematlas {

/// Of programmes as `ChainMoments` makes them: columns in [0, 1], rows at least, whole numbers below 2^53.
struct DualValue {
    std::int64_t bound = 0;   ///< no point of the programme, nor of its relaxation, has a smaller objective
    bool infeasible = false;  ///< not even with all columns at 1 would the objective reach the bound

    /// Per column, rounded towards 0. Where it is positive, a point with the column at 1 has an objective of
    /// more than `bound` - 1 + this; where it is negative, a point with the column at 0 has one of more than
    /// `bound` - 1 - this.
    std::vector<std::int64_t> reduced_cost;
};

/// Multipliers (one a row; negative ones count as 0) are rounded to multiples of 2^-40 and the Lagrangian
/// dual is then evaluated exactly. Cost: linear in the entries.
DualValue dual_value(const MilpModel& programme, std::span<const double> multipliers);

}  // namespace rematlas
