// The libraries that solve_milp uses, one function each. A function is compiled only if its library was
// found.
#pragma once

#include "core/milp/milp.h"

namespace rematlas {

Result<MilpAnswer> solve_by_highs(const MilpModel& model, const MilpLimits& limits);
Result<MilpAnswer> solve_by_glpk(const MilpModel& model, const MilpLimits& limits);

}  // namespace rematlas
