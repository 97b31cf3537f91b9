// Reads a solver's options from JSON. A key that the solver does not read, a wrong type and a value out of
// range are errors that name the key.
//
//     void read_options(OptionReader& reader, RotorOptions& options) {
//         reader.integer("slots", options.slots, 10, 100000);
//     }
//     Result<RotorOptions> options = options_from<RotorOptions>("rotor", &json);
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace rematlas {

/// Reads the options of one solver. If a key is absent, the option keeps its default. Ranges are inclusive.
/// Only the first error is kept.
class OptionReader {
  public:
    /// `options`: null or an object; `solver` starts every message.
    OptionReader(std::string_view solver, const nlohmann::json* options);

    void integer(std::string_view key, int& value, int least, int most);
    void unsigned_integer(std::string_view key, std::uint64_t& value);
    void number(std::string_view key, double& value, double least, double most);
    void flag(std::string_view key, bool& value);

    /// Reads one of several words. `choices` maps each word to its value.
    template <class T>
    void choice(std::string_view key, T& value,
                std::initializer_list<std::pair<std::string_view, T>> choices) {
        choice(key, value, std::vector<std::pair<std::string_view, T>>(choices));
    }
    template <class T, class Choices>
    void choice(std::string_view key, T& value, const Choices& choices) {
        std::vector<std::string_view> words;
        for (const auto& [word, unused] : choices) words.push_back(word);
        std::string_view before;
        for (const auto& [word, meant] : choices)
            if (meant == value) before = word;
        const int at = word(key, before, words);
        if (at >= 0) value = std::next(choices.begin(), at)->second;
    }

    /// Notes an error that concerns several options, unless an error was noted before.
    void reject(const std::string& what);

    /// Errors: the first error that was noted; if none was, a key that the solver did not read.
    Result<void> finish() const;

    /// Every key that the solver has read, with the default of its option.
    const nlohmann::json& defaults() const { return defaults_; }

  private:
    const nlohmann::json* find(std::string_view key, nlohmann::json before);
    int word(std::string_view key, std::string_view before, const std::vector<std::string_view>& words);
    void fail(std::string_view key, const std::string& what);

    std::string solver_;
    const nlohmann::json* options_;
    nlohmann::json defaults_ = nlohmann::json::object();
    std::string error_;
};

/// Reads the options with the function `read_options` for the type `Options`. If `json` is null, returns the
/// defaults.
template <class Options>
Result<Options> options_from(std::string_view solver, const nlohmann::json* json) {
    Options options;
    OptionReader reader(solver, json);
    read_options(reader, options);
    if (Result<void> read = reader.finish(); !read) return read.error();
    return options;
}

}  // namespace rematlas
