// Writes plain values as pickles, in the ways of the writers that there are: Python's own at each
// protocol, and torch's, which knows protocol 2 alone and numbers lists when they are full.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rematlas {

struct PickleStyle {
    int protocol = 4;
    std::size_t batch = 1000;  ///< so many items go into a list at a time
    bool memo_after = false;   ///< a list or dictionary gets its number when it is full
    bool memo = true;
};

constexpr PickleStyle kTorchsOwn{.protocol = 2, .batch = 1'000'000, .memo_after = true};

/// Equal texts, and equal lists and frames below a key "frames", are written once. A list below a key
/// that ends with "_id" is a tuple.
std::string pickled(const nlohmann::ordered_json& value, const PickleStyle& style = {});

/// A list also where there is one item, which braces alone would not make one.
nlohmann::ordered_json json_list(const std::vector<nlohmann::ordered_json>& items);

}  // namespace rematlas
