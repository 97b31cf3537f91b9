// Improves a schedule by windows, each planned to the end (see window.h): exchanges that annealing would have
// to make in one move. Source: large neighbourhood search (Shaw, CP 1998), with exact subproblems.
//
//     WindowSearch windows(graph, budget, MilpLibrary::highs, seed);
//     Candidate better = windows.improve(best, 100, deadline, report);
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/graph/flat_graph.h"
#include "core/milp/milp.h"
#include "core/solvers/atlas/candidate.h"
#include "core/solvers/atlas/random.h"
#include "core/solvers/deadline.h"

namespace rematlas::atlas {

class WindowSearch {
  public:
    /// The graph must outlive the search.
    WindowSearch(const FlatGraph& graph, std::int64_t budget, MilpLibrary library, std::uint64_t seed);

    /// So many windows one after another, or until the deadline. `best` fits the budget, and so does the
    /// answer. `report` is told of each improvement.
    Candidate improve(Candidate best, int windows, const Deadline& deadline,
                      const std::function<void(const Candidate& best)>& report);

  private:
    /// Of the next window: around a rerun, half of them its neighbours in the graph, half from elsewhere.
    std::vector<int> choose_ops(const std::vector<int>& run_counts, const std::vector<int>& reruns);
    int neighbour(int op);
    /// With the makers of its inputs that run more than once. False: these are too many.
    bool add(int op, const std::vector<int>& run_counts, std::vector<int>& ops) const;
    /// True when the window was planned to the end.
    bool plan_window(Candidate& best, const Deadline& deadline);

    const FlatGraph& graph_;
    const std::int64_t budget_;
    const MilpLibrary library_;
    Random random_;
    std::vector<int> evictable_;  ///< ops that may run again, with bytes to gain
    double size_;                 ///< ops that the next window is to have
};

}  // namespace rematlas::atlas
