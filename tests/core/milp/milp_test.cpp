// Compares each library with an enumeration of all points of small programs.
#include "core/milp/milp.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "core/milp/milp_thread.h"
#include "tests/core/support/market_split.h"

namespace rematlas {
namespace {

/// Returns a random model. Its columns are integers with lower limits from -2 to 0 and upper limits from 1 to
/// 3; some columns are fixed to their lower limits. Its rows have one limit, two limits or an equality.
MilpModel random_model(std::mt19937& random) {
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    MilpModel model;
    model.offset = below(7) - 3;
    const int columns = 2 + below(4);
    for (int i = 0; i < columns; ++i) {
        const double lower = -below(3), upper = below(6) == 0 ? lower : 1 + below(3);
        model.add_column({.lower = lower, .upper = upper, .cost = double(below(11) - 5), .integer = true});
    }
    for (int row = below(5); row > 0; --row) {
        std::vector<std::pair<int, double>> entries;
        for (int i = 0; i < columns; ++i)
            if (const int factor = below(9) - 4; factor != 0) entries.push_back({i, factor});
        const double at = below(9) - 4;
        switch (below(4)) {
            case 0:
                model.add_row(at, kInfinite, entries);
                break;
            case 1:
                model.add_row(-kInfinite, at, entries);
                break;
            case 2:
                model.add_row(at, at + below(4), entries);
                break;
            default:
                model.add_row(at, at, entries);
                break;
        }
    }
    return model;
}

bool holds(const MilpModel& model, const std::vector<double>& point) {
    for (std::size_t row = 0; row < model.rows(); ++row) {
        double sum = 0;
        for (int k = model.row_begin[row]; k < model.row_begin[row + 1]; ++k)
            sum += model.value[k] * point[model.index[k]];
        if (sum < model.row_lower[row] - 1e-6 || sum > model.row_upper[row] + 1e-6) return false;
    }
    for (std::size_t i = 0; i < point.size(); ++i)
        if (point[i] < model.columns[i].lower - 1e-6 || point[i] > model.columns[i].upper + 1e-6)
            return false;
    return true;
}

double objective_of(const MilpModel& model, const std::vector<double>& point) {
    double sum = model.offset;
    for (std::size_t i = 0; i < point.size(); ++i) sum += model.columns[i].cost * point[i];
    return sum;
}

/// Enumerates all integer points. Returns the least objective; infinite if no point satisfies the rows.
double least_objective(const MilpModel& model, std::vector<double>& best) {
    double least = kInfinite;
    std::vector<double> point;
    for (const MilpColumn& column : model.columns) point.push_back(column.lower);
    while (true) {
        if (holds(model, point) && objective_of(model, point) < least) {
            least = objective_of(model, point);
            best = point;
        }
        std::size_t i = 0;
        while (i < point.size() && point[i] == model.columns[i].upper) {
            point[i] = model.columns[i].lower;
            ++i;
        }
        if (i == point.size()) return least;
        ++point[i];
    }
}

class MilpLibraries : public testing::TestWithParam<MilpLibrary> {};

TEST_P(MilpLibraries, find_the_least_of_all_points_or_that_there_is_none) {
    std::mt19937 random(1);
    int infeasible = 0, open = 0;
    for (int round = 0; round < 400; ++round) {
        const MilpModel model = random_model(random);
        std::vector<double> best;
        const double least = least_objective(model, best);
        const Result<MilpAnswer> answer = solve_milp(GetParam(), model, {.relative_gap = 0});
        ASSERT_TRUE(answer) << answer.error().message;
        const Result<MilpAnswer> relaxed = solve_milp(GetParam(), model, {.relaxed = true});
        ASSERT_TRUE(relaxed) << relaxed.error().message;
        if (std::isinf(least)) {
            ++infeasible;
            EXPECT_EQ(answer->status, MilpStatus::infeasible) << round;
            EXPECT_EQ(answer->bound, kInfinite);
            EXPECT_TRUE(answer->values.empty());
            continue;
        }
        ASSERT_EQ(answer->status, MilpStatus::optimal) << round;
        EXPECT_NEAR(answer->objective, least, 1e-6) << round;
        EXPECT_NEAR(answer->bound, least, 1e-6) << round;
        EXPECT_TRUE(holds(model, answer->values));
        EXPECT_NEAR(objective_of(model, answer->values), least, 1e-6);
        ASSERT_EQ(relaxed->status, MilpStatus::optimal) << round;
        EXPECT_LE(relaxed->objective, least + 1e-6);
        EXPECT_EQ(relaxed->bound, relaxed->objective);
        EXPECT_TRUE(holds(model, relaxed->values));
        open += relaxed->objective < least - 1e-6;
    }
    EXPECT_GT(infeasible, 30);
    EXPECT_GT(open, 30) << "programmes that a relaxation does not solve";
}

TEST_P(MilpLibraries, a_start_and_a_thread_of_its_own_change_nothing) {
    std::mt19937 random(2);
    int compared = 0;
    for (int round = 0; round < 40; ++round) {
        const auto model = std::make_shared<const MilpModel>(random_model(random));
        std::vector<double> best;
        const double least = least_objective(*model, best);
        MilpThread thread(GetParam(), model, {.relative_gap = 0}, best);
        double bound = -kInfinite;
        std::vector<std::vector<double>> incumbents;
        std::optional<Result<MilpAnswer>> answer;
        while (!answer) {
            MilpThread::News news = thread.news(kGlance);
            EXPECT_GE(news.bound, bound) << "bounds only rise";
            bound = news.bound;
            for (std::vector<double>& values : news.incumbents) incumbents.push_back(std::move(values));
            answer = std::move(news.answer);
        }
        ASSERT_TRUE(*answer) << answer->error().message;
        for (const std::vector<double>& values : incumbents) EXPECT_TRUE(holds(*model, values));
        if (std::isinf(least)) {
            EXPECT_EQ((*answer)->status, MilpStatus::infeasible);
            continue;
        }
        ++compared;
        EXPECT_EQ((*answer)->status, MilpStatus::optimal);
        EXPECT_NEAR((*answer)->objective, least, 1e-6);
        EXPECT_LE(bound, least + 1e-6);
    }
    EXPECT_GT(compared, 20);
}

TEST_P(MilpLibraries, without_time_tell_no_more_than_they_know) {
    std::mt19937 random(3);
    for (int round = 0; round < 20; ++round) {
        const MilpModel model = random_model(random);
        std::vector<double> best;
        const double least = least_objective(model, best);
        const Result<MilpAnswer> answer = solve_milp(GetParam(), model, {.time = std::chrono::seconds(0)});
        ASSERT_TRUE(answer) << answer.error().message;
        EXPECT_LE(answer->bound, least + 1e-6);
        if (!answer->values.empty()) {
            EXPECT_TRUE(holds(model, answer->values));
        }
    }
}

TEST_P(MilpLibraries, that_end_within_the_gap_are_optimal_and_those_that_are_stopped_are_not) {
    const MilpModel model = market_split();
    const Result<MilpAnswer> within =
        solve_milp(GetParam(), model, {.time = std::chrono::hours(1), .relative_gap = 1});
    ASSERT_TRUE(within) << within.error().message;
    EXPECT_EQ(within->status, MilpStatus::optimal);
    EXPECT_TRUE(holds(model, within->values));
    std::stop_source source;
    const auto stop_at_first_point = [&](const MilpNews& news) {
        if (!news.values.empty()) source.request_stop();
    };
    const Result<MilpAnswer> stopped = solve_milp(GetParam(), model,
                                                  {.time = std::chrono::hours(1),
                                                   .stop = source.get_token(),
                                                   .relative_gap = 0,
                                                   .progress = stop_at_first_point});
    ASSERT_TRUE(stopped) << stopped.error().message;
    EXPECT_EQ(stopped->status, MilpStatus::feasible);
    EXPECT_TRUE(holds(model, stopped->values));
    EXPECT_LT(stopped->bound, stopped->objective);
}

/// An object whose destruction can be seen. It stands for the static objects of a library.
struct TellsItsEnd {
    ~TellsItsEnd() { std::fputs("destroyed", stderr); }
};

TEST_P(MilpLibraries, keep_their_static_objects_if_the_process_exits_while_they_work) {
    ::testing::FLAGS_gtest_death_test_style = "threadsafe";
    const auto exit_at_work = [] {
        static const TellsItsEnd of_a_library;
        MilpThread thread(GetParam(), std::make_shared<const MilpModel>(market_split()), {});
        while (thread.news(kGlance).incumbents.empty()) {
        }
        std::exit(7);
    };
    EXPECT_EXIT(exit_at_work(), testing::ExitedWithCode(7), testing::Not(testing::HasSubstr("destroyed")));
}

INSTANTIATE_TEST_SUITE_P(Each, MilpLibraries,
                         testing::ValuesIn(milp_libraries().begin(), milp_libraries().end()),
                         [](const auto& param) { return std::string(to_string(param.param)); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(MilpLibraries);

}  // namespace
}  // namespace rematlas
