// Solves mixed-integer linear programs by a library, behind one small interface.
//
//     MilpModel model;
//     const int x = model.add_column({.lower = 0, .upper = 1, .cost = -2, .integer = true});
//     const int y = model.add_column({.lower = 0, .upper = 4, .cost = -1});
//     model.add_row(-kInfinite, 3, {{{x, 2.0}, {y, 1.0}}});                     // 2x + y <= 3
//     Result<MilpAnswer> answer = solve_milp(MilpLibrary::highs, model, {.time = 10s});
//
// The objective is minimized. Libraries: HiGHS (MIT licence) and GLPK (GPL 3 or later); a build can lack
// one or both. They work with doubles, so bounds hold only to the tolerances of the libraries (1e-9 for a
// row), and callers must check the answers.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
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
    std::vector<int> index;         ///< columns; each occurs at most once in a row
    std::vector<double> value;
    double offset = 0;  ///< added to the objective

    int add_column(const MilpColumn& column) {
        columns.push_back(column);
        return static_cast<int>(columns.size()) - 1;
    }
    void add_row(double lower, double upper, std::span<const std::pair<int, double>> entries);
    std::size_t rows() const { return row_lower.size(); }
};

/// A linear expression: columns with factors, and a constant. Columns may occur in it more than once.
struct MilpSum {
    std::vector<std::pair<int, double>> columns;
    double constant = 0;
    void add(int column, double factor = 1) { columns.emplace_back(column, factor); }
    void add(const MilpSum& other, double factor = 1);
};

/// Adds the row least <= sum <= most.
void add_row(MilpModel& milp, double least, const MilpSum& sum, double most);

enum class MilpLibrary { highs, glpk };
std::string_view to_string(MilpLibrary library);

/// Returns the libraries that this build has, the fastest first.
std::span<const MilpLibrary> milp_libraries();
/// Fails if this build lacks the library.
Result<void> has_milp(MilpLibrary library);

struct MilpNews {
    std::span<const double> values;  ///< values of an incumbent, or empty
    double bound = -kInfinite;       ///< minus infinity while no bound is known
    std::int64_t nodes = 0;          ///< nodes of the branch and bound so far
};
using MilpProgress = std::function<void(const MilpNews&)>;  ///< called often during the solve

struct MilpLimits {
    std::chrono::nanoseconds time = std::chrono::seconds(60);  ///< wall clock
    /// A stop request is seen when the library looks for it, at the latest between two nodes. GLPK solves the
    /// first relaxation in slices of work and looks after each slice. Each slice is half as long as all
    /// slices before it together.
    std::stop_token stop{};
    double relative_gap = 1e-5;       ///< the search ends when (objective - bound) / objective is at most
                                      ///< this value
    bool relaxed = false;             ///< solves the linear relaxation, as if no column were integer
    int threads = 1;                  ///< HiGHS only
    std::uint64_t seed = 0;           ///< HiGHS only
    std::span<const double> start{};  ///< a feasible point, one value per column; or empty
    MilpProgress progress{};          ///< called from the solving thread
};

enum class MilpStatus {
    optimal,     ///< optimal to within the relative gap
    feasible,    ///< a limit ended the search after a feasible point was found
    infeasible,  ///< proven to have no feasible point
    unknown,     ///< a limit ended the search before a feasible point was found
};

struct MilpAnswer {
    MilpStatus status = MilpStatus::unknown;
    std::vector<double> values;  ///< empty if no feasible point was found
    double objective = kInfinite;
    /// No feasible point has a smaller objective. Infinite if there is no feasible point.
    double bound = -kInfinite;
    std::int64_t nodes = 0;  ///< nodes of the branch and bound
    /// The multipliers of the rows, as returned by the library, if a relaxed model was solved to optimality;
    /// otherwise empty. A multiplier is at least 0 if the row's lower limit is active.
    std::vector<double> multipliers = {};
};

/// Solves the model. Fails if this build lacks the library, or if the library fails on the model.
Result<MilpAnswer> solve_milp(MilpLibrary library, const MilpModel& model, const MilpLimits& limits = {});

}  // namespace rematlas
