// The shared problem set, where it is present: training graphs with proven bounds and the figures of
// published methods.
#pragma once

#include <optional>
#include <vector>

#include "core/graph/graph.h"

namespace rematlas {

inline constexpr const char* kNoProblemFiles = "no problem files: set REMATLAS_PROBLEMS to their folder";

struct ProblemFile {
    struct Reference {
        double fraction =
            0;  ///< of the way from the largest footprint of one op to the peak without recomputation
        Bytes budget;
        double best_known = 0;
        double lower_bound = 1;
        std::optional<double> chen_sqrt, chen_greedy;
    };
    Graph graph;
    std::vector<Reference> references;
};

/// Reads the folder named by REMATLAS_PROBLEMS, else `../shared/problems` beside the source tree; empty when
/// there is none.
std::vector<ProblemFile> read_problem_files();

}  // namespace rematlas
