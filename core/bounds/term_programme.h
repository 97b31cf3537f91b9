// Integer programs with 0/1 variables, some of which have a known value from the start. The relaxations over
// moments have this form.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "core/milp/milp.h"

namespace rematlas {

/// A variable: the index of a column, or one of the two constants below.
using Term = std::int32_t;
using Terms = std::vector<Term>;
constexpr Term kNever = -1, kAlways = -2;  ///< terms for the constants 0 and 1

class TermProgramme {
  public:
    using Entry = std::pair<Term, std::int64_t>;

    /// Adds a variable that is 0 or 1.
    Term add_column(std::int64_t cost);

    /// Adds the row: the sum of factor times variable is at least `least`. Constants are moved to the other
    /// side. A row that always holds is not added.
    void add_row(std::int64_t least, std::span<const Entry> entries);
    void add_row(std::int64_t least, std::initializer_list<Entry> entries) {
        add_row(least, std::span(entries.begin(), entries.size()));
    }
    /// Adds the row: demand <= kept + run + copied.
    void add_implication(Term demand, Term kept, Term run, Term copied = kNever) {
        add_row(0, {{demand, -1}, {kept, 1}, {run, 1}, {copied, 1}});
    }

    /// Says whether some row cannot be satisfied.
    bool impossible() const { return impossible_; }
    void declare_impossible() { impossible_ = true; }

    /// The program, to be minimized. Rows have only a lower limit, and all coefficients are integers.
    MilpModel model;

  private:
    bool impossible_ = false;
    std::vector<std::pair<int, double>> row_;  ///< the row being added
};

}  // namespace rematlas
