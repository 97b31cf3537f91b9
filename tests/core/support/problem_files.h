// The shared problem set, where it is present: training graphs with proven bounds and the figures of
// published methods.
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
            0;  ///< of the way from the largest footprint of one op to the peak without recomputation
        Bytes budget;
        double best_known = 0;
        double lower_bound = 1;
        std::optional<double> chen_sqrt, chen_greedy;
        std::map<std::string, double> dtr;  ///< by the published names of the heuristics
    };
    Graph graph;
    std::vector<Reference> references;
};

/// The folder named by REMATLAS_PROBLEMS, else `../shared/problems` beside the source tree; it need not be
/// there.
std::filesystem::path problem_folder();

/// The graphs in that folder and their figures; empty when there are none.
std::vector<ProblemFile> read_problem_files();

}  // namespace rematlas
