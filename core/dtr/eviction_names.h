// The names of the options of online eviction.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "core/dtr/online_eviction.h"

namespace rematlas {

inline constexpr std::array<std::pair<const char*, DtrHeuristic>, 7> kHeuristicNames{
    {{"dtr-eq", DtrHeuristic::dtr_eq},
     {"dtr", DtrHeuristic::dtr},
     {"local", DtrHeuristic::local},
     {"lru", DtrHeuristic::lru},
     {"size", DtrHeuristic::size},
     {"msps", DtrHeuristic::msps},
     {"random", DtrHeuristic::random}}};

inline constexpr std::array<std::pair<const char*, DtrDeallocation>, 3> kDeallocationNames{
    {{"eager", DtrDeallocation::eager},
     {"ignore", DtrDeallocation::ignore},
     {"banish", DtrDeallocation::banish}}};

/// Returns the names in a table of pairs (name, value), in the order of the table.
template <class Names>
std::vector<std::string> words_of(const Names& names) {
    std::vector<std::string> words;
    for (const auto& [word, value] : names) words.emplace_back(word);
    return words;
}

}  // namespace rematlas
