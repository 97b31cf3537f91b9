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
    /// Adds a text and returns its id. Control characters, and bytes that are not valid UTF-8, become
    /// question marks, so that every text can be printed on one line and written as JSON. Throws
    /// SnapshotFault if there are too many distinct texts.
    TextId add(std::string_view text);

    /// Returns the text, which is valid until the next `add`. Returns an empty text if no text has this id.
    std::string_view operator[](TextId id) const;
    std::size_t size() const { return ends_.size(); }

  private:
    std::string all_;                  ///< the texts, one after another
    std::vector<std::uint64_t> ends_;  ///< end of each text in `all_`
    DistinctIndex index_;
};

/// Returns the text with a question mark in place of each byte that is not part of printable UTF-8.
std::string printable(std::string_view text);

}  // namespace rematlas
