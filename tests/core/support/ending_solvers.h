// The solvers that end by themselves, however fast the machine is. A test gives such a solver an hour, which
// the solver never needs, and counts its answers. The answers of other solvers depend on the time that they
// are given, so tests only check these answers.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

namespace rematlas {

inline constexpr std::string_view kEndingSolvers[] = {"keep-all", "chen-sqrt", "chen-greedy",
                                                      "revolve",  "rotor",     "dtr"};

inline bool ends_by_itself(std::string_view solver) {
    return std::find(std::begin(kEndingSolvers), std::end(kEndingSolvers), solver) !=
           std::end(kEndingSolvers);
}

}  // namespace rematlas
