// Writes plain values as pickles in the ways of existing writers: Python's own writer with each protocol, and
// torch's writer, which uses only protocol 2 and memoizes lists after they are filled.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rematlas {

struct PickleStyle {
    int protocol = 4;
    std::size_t batch = 1000;  ///< most items that are added to a list at a time
    bool memo_after = false;   ///< a list or dictionary gets its memo number after it is filled
    bool memo = true;
};

constexpr PickleStyle kTorchsOwn{.protocol = 2, .batch = 1'000'000, .memo_after = true};

/// Equal texts are written once, and so are equal lists and frames below a key "frames". A list below a key
/// that ends with "_id" is written as a tuple.
std::string pickled(const nlohmann::ordered_json& value, const PickleStyle& style = {});

/// Returns a JSON list even if `items` has one item. (With braces, nlohmann::json would not make a list of
/// one item.)
nlohmann::ordered_json json_list(const std::vector<nlohmann::ordered_json>& items);

}  // namespace rematlas
