// A table that keeps each distinct text once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/snapshots/distinct.h"

namespace rematlas {

using TextId = Id<struct TextTag>;

class TextTable {
  public:
    /// Bytes that are no UTF-8 and control characters become question marks, so that every text can be
    /// printed on one line and written as JSON. Throws SnapshotFault where there are too many.
    TextId add(std::string_view text);

    /// Valid until the next `add`. Empty for an id that names no text.
    std::string_view operator[](TextId id) const;
    std::size_t size() const { return ends_.size(); }

  private:
    std::string all_;                  ///< the texts, one after another
    std::vector<std::uint64_t> ends_;  ///< of each text, in `all_`
    DistinctIndex index_;
};

/// The text with a question mark in place of each byte that is not part of printable UTF-8.
std::string printable(std::string_view text);

}  // namespace rematlas
