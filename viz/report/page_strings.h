// Collects the strings of a page, and stores each different string once.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace rematlas {

class PageStrings {
  public:
    /// Returns the index of the text. If the text is new, adds it.
    std::int64_t place_of(const std::string& text) {
        const auto [place, fresh] = places_.try_emplace(text, static_cast<std::int64_t>(all_.size()));
        if (fresh) all_.push_back(text);
        return place->second;
    }
    const std::vector<std::string>& all() const { return all_; }

  private:
    std::vector<std::string> all_;
    std::unordered_map<std::string, std::int64_t> places_;
};

}  // namespace rematlas
