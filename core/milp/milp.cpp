#include "core/milp/milp.h"

#include <algorithm>
#include <map>
#include <string>

#include "core/milp/libraries.h"

namespace rematlas {
namespace {

constexpr MilpLibrary kLibraries[] = {
#if REMATLAS_HIGHS
    MilpLibrary::highs,
#endif
#if REMATLAS_GLPK
    MilpLibrary::glpk,
#endif
#if !REMATLAS_HIGHS && !REMATLAS_GLPK
#define REMATLAS_NO_MILP 1
    MilpLibrary::highs,
#endif
};

}  // namespace

void MilpModel::add_row(double lower, double upper, std::span<const std::pair<int, double>> entries) {
    row_lower.push_back(lower);
    row_upper.push_back(upper);
    for (const auto& [column, factor] : entries) {
        index.push_back(column);
        value.push_back(factor);
    }
    row_begin.push_back(static_cast<int>(index.size()));
}

void MilpSum::add(const MilpSum& other, double factor) {
    for (const auto& [column, value] : other.columns) columns.emplace_back(column, factor * value);
    constant += factor * other.constant;
}

void add_row(MilpModel& milp, double least, const MilpSum& sum, double most) {
    std::map<int, double> entries;
    for (const auto& [column, value] : sum.columns) entries[column] += value;
    std::vector<std::pair<int, double>> row;
    for (const auto& [column, value] : entries)
        if (value != 0) row.emplace_back(column, value);
    milp.add_row(least - sum.constant, most - sum.constant, row);
}

std::string_view to_string(MilpLibrary library) {
    return library == MilpLibrary::highs ? "highs" : "glpk";
}

std::span<const MilpLibrary> milp_libraries() {
#ifdef REMATLAS_NO_MILP
    return {};
#else
    return kLibraries;
#endif
}

Result<void> has_milp(MilpLibrary library) {
    const auto built = milp_libraries();
    if (std::find(built.begin(), built.end(), library) != built.end()) return {};
    if (built.empty()) return Error{"this build has neither HiGHS nor GLPK"};
    return Error{"this build has no " + std::string(to_string(library))};
}

Result<MilpAnswer> solve_milp(MilpLibrary library, const MilpModel& model, const MilpLimits& limits) {
#if REMATLAS_HIGHS
    if (library == MilpLibrary::highs) return solve_by_highs(model, limits);
#endif
#if REMATLAS_GLPK
    if (library == MilpLibrary::glpk) return solve_by_glpk(model, limits);
#endif
    (void)model, (void)limits;
    return has_milp(library).error();
}

}  // namespace rematlas
