// The shared problem set, if it is present: training graphs with proven bounds and the results of published
// methods.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace rematlas {

inline constexpr const char* kNoProblemFiles = "no problem files: set REMATLAS_PROBLEMS to their folder";

struct ProblemFile {
    struct Reference {
        double fraction =
            0;  ///< where the budget is: 0 is the largest footprint of one op, 1 the peak without
                ///< recomputation
        Bytes budget;
        double best_known = 0;
        double lower_bound = 1;
        std::optional<double> chen_sqrt, chen_greedy;
        std::map<std::string, double> dtr;  ///< overheads by the published names of the heuristics
    };
    Graph graph;
    std::vector<Reference> references;
};

/// Returns the folder in REMATLAS_PROBLEMS, or `../shared/problems` next to the source tree. The folder need
/// not exist.
std::filesystem::path problem_folder();

/// Returns the graphs in `problem_folder()` with their references; empty if the folder has none.
std::vector<ProblemFile> read_problem_files();

}  // namespace rematlas
