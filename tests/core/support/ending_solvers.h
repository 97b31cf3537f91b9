// Lists the solvers that end by themselves, however fast the machine is. A test gives them an hour, which
// they never need, and counts their answers. The answers of other solvers depend on their time limit, so
// tests check these answers but do not count them.
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
