// The bound that multipliers prove for a linear program, computed in integer arithmetic. The bound is valid
// for any multipliers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/milp/milp.h"

namespace rematlas {

/// The result for a program of the form that `ChainMoments` makes: columns in [0, 1] and rows with only a
/// lower limit. All numbers must be integers below 2^53.
struct DualValue {
    /// Each feasible point of the program or of its linear relaxation has an objective of at least `bound`,
    /// if that objective is an integer.
    std::int64_t bound = 0;
    /// Whether the dual value is above the objective with all columns at 1. If so, the program has no
    /// feasible point.
    bool infeasible = false;

    /// The reduced cost of each column, rounded towards 0. If it is positive, each feasible point with the
    /// column at 1 has an objective of more than `bound` - 1 + the reduced cost. If it is negative, each
    /// feasible point with the column at 0 has an objective of more than `bound` - 1 - the reduced cost.
    std::vector<std::int64_t> reduced_cost;
};

/// Returns the bound that the multipliers prove. There must be one multiplier per row; negative ones count as
/// 0. All multipliers are rounded to multiples of 2^-40, and the Lagrangian dual is then evaluated exactly.
/// Cost: linear in the entries.
DualValue dual_value(const MilpModel& programme, std::span<const double> multipliers);

}  // namespace rematlas
