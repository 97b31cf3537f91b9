// Reads a solver's options from JSON: every key that is not asked for, every wrong type and every value out
// of range is an error that names the key.
//
//     OptionReader reader("rotor", json);
//     reader.integer("slots", options.slots, 10, 100000);
//     if (auto read = reader.finish(); !read) return read.error();
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace rematlas {

/// Keys that are absent leave the default as it is. Ranges are inclusive. The first error is kept.
class OptionReader {
  public:
    /// `options`: null or an object; `solver` starts every message.
    OptionReader(std::string_view solver, const nlohmann::json* options);

    void integer(std::string_view key, int& value, int least, int most);
    void unsigned_integer(std::string_view key, std::uint64_t& value);
    void number(std::string_view key, double& value, double least, double most);
    void flag(std::string_view key, bool& value);

    /// A word out of a list that pairs each with its value.
    template <class T>
    void choice(std::string_view key, T& value,
                std::initializer_list<std::pair<std::string_view, T>> choices) {
        std::vector<std::string_view> words;
        for (const auto& [word, unused] : choices) words.push_back(word);
        const int at = word(key, words);
        if (at >= 0) value = (choices.begin() + at)->second;
    }

    /// The first error, or that of a key nobody asked for.
    Result<void> finish() const;

  private:
    const nlohmann::json* find(std::string_view key);
    int word(std::string_view key, const std::vector<std::string_view>& words);
    void fail(std::string_view key, const std::string& what);

    std::string solver_;
    const nlohmann::json* options_;
    std::vector<std::string> asked_;
    std::string error_;
};

}  // namespace rematlas
