#include "core/planning/registry.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

#include "core/milp/milp.h"
#include "tests/core/support/ending_solvers.h"

namespace rematlas {
namespace {

TEST(Registry, EverySolverHasTheNameOfItsEntryAndNoOtherHasIt) {
    std::set<std::string_view> names;
    for (const SolverEntry* entry : all_solvers()) {
        const std::string_view name = entry->traits.name;
        EXPECT_TRUE(names.insert(name).second) << name;
        EXPECT_EQ(&traits_of(name), &entry->traits) << name;
        if (milp_libraries().empty() && name.starts_with("checkmate")) continue;
        const Result<std::unique_ptr<Solver>> solver = make_solver(name);
        ASSERT_TRUE(solver) << solver.error().message;
        EXPECT_EQ((*solver)->name(), name);
        EXPECT_FALSE(entry->traits.summary.empty()) << name;
    }
    for (const std::string_view name : kEndingSolvers) EXPECT_TRUE(names.contains(name)) << name;
}

TEST(Registry, AnUnknownNameHasNoSolverAndTheDefaultTraits) {
    EXPECT_EQ(find_solver("magic"), nullptr);
    EXPECT_FALSE(make_solver("magic"));
    EXPECT_EQ(traits_of("magic").name, "");
    EXPECT_FALSE(traits_of("magic").anytime);
}

}  // namespace
}  // namespace rematlas
