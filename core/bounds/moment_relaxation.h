// The common part of the relaxations over moments: the variables x and a of chain_moments.h, the choice of
// the variables that some row needs, and the rows that do not depend on copies.
//
// If a needed variable has no known value, the constructor gives it column 0 as a mark. The derived class
// replaces each mark by a real column, and adds the other columns and rows.
#pragma once

#include <cstdint>
#include <vector>

#include "core/bounds/moment_chain.h"
#include "core/bounds/term_programme.h"
#include "core/graph/flat_graph.h"

namespace rematlas {

class MomentRelaxation {
  public:
    /// Returns the program, which is to be minimized.
    const MilpModel& programme() const { return programme_.model; }

    /// Says whether some row cannot be satisfied; then no schedule fits the budget.
    bool impossible() const { return programme_.impossible(); }

    int moments() const { return static_cast<int>(chain_.ops.size()); }

  protected:
    using Entry = TermProgramme::Entry;
    using Entries = std::vector<Entry>;

    MomentRelaxation(const FlatGraph& graph, std::int64_t budget, MomentChain chain);

    /// Adds the row: a required op runs in at least one of the windows that its first run can be in.
    void add_sum_row(int op);
    /// Adds the row for the bytes during a moment. `room`: bytes for the tensors at the moment and the op's
    /// workspace.
    void add_memory_row(int moment, std::int64_t room);

    int op_of(int moment) const { return chain_.ops[moment - 1]; }
    /// Says whether the runs of the op in all windows up to `last_window` have input rows. If the op is late
    /// (see `late_`), only the windows in which its first run can be have input rows.
    bool has_input_rows(int op, int last_window) const {
        return !late_[op] || last_window <= windows_.last[op];
    }

    const FlatGraph& graph_;
    std::int64_t budget_;
    MomentChain chain_;
    MomentWindows windows_;
    std::vector<std::uint8_t> late_;  ///< per op: whether it is the fullest moment's op or descends from it
    std::vector<Terms> runs_;         ///< x[window][op]
    /// a[moment][tensor]. Moment 0 is the start of the step, before any op has run.
    std::vector<Terms> kept_;
    TermProgramme programme_;

  private:
    void find_needed();
    void need(int window, int tensor);
};

}  // namespace rematlas
