// The bound that multipliers prove for a linear programme, in whole numbers. It is valid whatever made the
// multipliers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/milp/milp.h"

namespace rematlas {

/// For programmes as `ChainMoments` makes them: columns in [0, 1], rows with a lower limit only, and whole
/// numbers below 2^53.
struct DualValue {
    std::int64_t bound = 0;   ///< no point of the programme, nor of its relaxation, has a smaller objective
    bool infeasible = false;  ///< the objective with all columns at 1 is below the dual value

    /// The reduced cost of each column, rounded towards 0. Where it is positive, each point with the column
    /// at 1 has an objective of more than `bound` - 1 + the reduced cost. Where it is negative, each point
    /// with the column at 0 has an objective of more than `bound` - 1 - the reduced cost.
    std::vector<std::int64_t> reduced_cost;
};

/// Multipliers (one a row; negative ones count as 0) are rounded to multiples of 2^-40 and the Lagrangian
/// dual is then evaluated exactly. Cost: linear in the entries.
DualValue dual_value(const MilpModel& programme, std::span<const double> multipliers);

}  // namespace rematlas
