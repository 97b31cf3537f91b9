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

    /// Per column: what the objective is at least, beside `bound` less than one, where the column is 1 (if
    /// positive) or 0 (if negative, with the sign changed); else 0. Rounded towards 0.
    std::vector<std::int64_t> reduced_cost;
};

/// Multipliers (one a row; negative ones count as 0) are rounded to multiples of 2^-40 and the Lagrangian
/// dual is then evaluated exactly. Cost: linear in the entries.
DualValue dual_value(const MilpModel& programme, std::span<const double> multipliers);

}  // namespace rematlas
