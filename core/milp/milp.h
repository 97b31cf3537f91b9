// Mixed-integer linear programmes, solved by a library behind one small interface.
//
//     MilpModel model;
//     const int x = model.add_column({.lower = 0, .upper = 1, .cost = -2, .integer = true});
//     const int y = model.add_column({.lower = 0, .upper = 4, .cost = -1});
//     model.add_row(-kInfinite, 3, {{{x, 2.0}, {y, 1.0}}});                     // 2x + y <= 3
//     Result<MilpAnswer> answer = solve_milp(MilpLibrary::highs, model, {.time = 10s});
//
// Minimizes. Libraries: HiGHS (MIT licence) and GLPK (GPL 3 or later), each present or not in a build. They
// work with doubles: bounds hold to their tolerances (1e-9 of a row), so callers check what they are given.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <stop_token>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace rematlas {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

struct MilpColumn {
    double lower = 0, upper = kInfinite;
    double cost = 0;
    bool integer = false;
};

struct MilpModel {
    std::vector<MilpColumn> columns;
    std::vector<double> row_lower, row_upper;
    std::vector<int> row_begin{0};  ///< row i has entries row_begin[i] .. row_begin[i + 1]
    std::vector<int> index;         ///< columns, each at most once a row
    std::vector<double> value;
    double offset = 0;  ///< added to the objective

    int add_column(const MilpColumn& column) {
        columns.push_back(column);
        return static_cast<int>(columns.size()) - 1;
    }
    void add_row(double lower, double upper, std::span<const std::pair<int, double>> entries);
    std::size_t rows() const { return row_lower.size(); }
};

enum class MilpLibrary { highs, glpk };
std::string_view to_string(MilpLibrary library);

/// The libraries that this build has, the faster first.
std::span<const MilpLibrary> milp_libraries();
/// Errors: this build lacks the library.
Result<void> has_milp(MilpLibrary library);

struct MilpNews {
    std::span<const double> values;  ///< of an incumbent, or empty
    double bound = -kInfinite;       ///< minus infinity when none is known yet
    std::int64_t nodes = 0;          ///< of the branch and bound so far
};
using MilpProgress = std::function<void(const MilpNews&)>;  ///< called often

struct MilpLimits {
    std::chrono::nanoseconds time = std::chrono::seconds(60);  ///< wall clock
    /// A request to stop is seen where the library looks for it, at the latest between two nodes. In the
    /// first relaxation GLPK looks after half as long again as it has worked so far.
    std::stop_token stop{};
    double relative_gap = 1e-5;       ///< (objective - bound) / objective at which the search ends
    bool relaxed = false;             ///< as if no column were integer
    int threads = 1;                  ///< HiGHS only
    std::uint64_t seed = 0;           ///< HiGHS only
    std::span<const double> start{};  ///< a feasible point, one value a column, or empty
    MilpProgress progress{};          ///< called from the solving thread
};

enum class MilpStatus {
    optimal,     ///< to the relative gap
    feasible,    ///< a limit was met
    infeasible,  ///< proven
    unknown,     ///< a limit was met before a feasible point was found
};

struct MilpAnswer {
    MilpStatus status = MilpStatus::unknown;
    std::vector<double> values;  ///< empty without a feasible point
    double objective = kInfinite;
    double bound = -kInfinite;  ///< no feasible point has a smaller objective; infinite when there is none
    std::int64_t nodes = 0;     ///< of the branch and bound
    /// The multipliers of the rows, as the library says, if a relaxed model was solved to the end; else
    /// empty. A multiplier is at least 0 where the row's lower side holds it.
    std::vector<double> multipliers = {};
};

/// Errors: this build lacks the library; the library failed on the model.
Result<MilpAnswer> solve_milp(MilpLibrary library, const MilpModel& model, const MilpLimits& limits = {});

}  // namespace rematlas
