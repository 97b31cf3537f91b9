// Programmes of 0/1 variables, some of which are known beforehand. The relaxations over moments are written
// in this form.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "core/milp/milp.h"

namespace rematlas {

/// A variable: the index of a column, or one of the two known values below.
using Term = std::int32_t;
using Terms = std::vector<Term>;
constexpr Term kNever = -1, kAlways = -2;  ///< 0 and 1

class TermProgramme {
  public:
    using Entry = std::pair<Term, std::int64_t>;

    /// Adds a whole variable in [0, 1].
    Term add_column(std::int64_t cost);

    /// Adds the row: the sum of factor times variable is at least `least`. Known terms go to the other side.
    /// A row that always holds is left out.
    void add_row(std::int64_t least, std::span<const Entry> entries);
    void add_row(std::int64_t least, std::initializer_list<Entry> entries) {
        add_row(least, std::span(entries.begin(), entries.size()));
    }
    /// Adds the row: demand <= kept + run + copied.
    void add_implication(Term demand, Term kept, Term run, Term copied = kNever) {
        add_row(0, {{demand, -1}, {kept, 1}, {run, 1}, {copied, 1}});
    }

    /// True when some row cannot be kept.
    bool impossible() const { return impossible_; }
    void declare_impossible() { impossible_ = true; }

    MilpModel model;  ///< to be minimized; rows with a lower limit only, all numbers whole

  private:
    bool impossible_ = false;
    std::vector<std::pair<int, double>> row_;  ///< the row being added
};

}  // namespace rematlas
