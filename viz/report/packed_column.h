// A column of integers as a short text, for pages with thousands of numbers.
//
// Each number is written as the base-32 digits of its zigzag code (0, -1, 1, -2, ... become 0, 1, 2, 3, ...),
// the lowest digit first. Each digit except the last has 32 added. The 64 possible letters are the letters of
// base64. A small number takes one letter, and no letter needs escaping in JSON or HTML.
//
//     PackedColumn column;
//     for (const Op& op : graph.ops) column.add(op.time.value);
//     page["time"] = column.take();
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rematlas {

class PackedColumn {
  public:
    void add(std::int64_t number);
    /// Adds the difference from the number of the previous call, or from 0.
    void add_change(std::int64_t number);
    std::string take() { return std::move(letters_); }

  private:
    std::string letters_;
    std::int64_t last_ = 0;
};

/// Returns the numbers of a column; stops before the first letter that is not one of the 64 letters.
std::vector<std::int64_t> unpacked(std::string_view letters);

}  // namespace rematlas
