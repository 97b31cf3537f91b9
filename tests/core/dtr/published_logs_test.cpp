// Repeats the experiments of the paper on its published logs.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "core/dtr/evict_online.h"
#include "core/dtr/trace_log.h"
#include "tests/core/support/problem_files.h"

namespace rematlas {
namespace {

const std::map<std::string, DtrHeuristic> kPublishedNames{
    {"DTR", DtrHeuristic::dtr},        {"DTREqClass", DtrHeuristic::dtr_eq},
    {"DTRLocal", DtrHeuristic::local}, {"MSPS", DtrHeuristic::msps},
    {"LRU", DtrHeuristic::lru},        {"LargestStorage", DtrHeuristic::size}};

std::string word(DtrOutcome::Status status) {
    return status == DtrOutcome::Status::ok ? "ok" : status == DtrOutcome::Status::oom ? "OOM" : "THRASH";
}

/// For every log, heuristic and ratio the run must end with the published status. The overhead must agree in
/// all printed digits, even if the run ended early.
TEST(PublishedLogs, give_the_published_figures) {
    std::ifstream file(problem_folder() / "dtr" / "reference.json");
    if (!file) GTEST_SKIP() << kNoProblemFiles;
    const nlohmann::json logs = nlohmann::json::parse(file).at("logs");
    int compared = 0;
    for (const auto& [name, heuristics] : logs.items()) {
        const Result<Trace> trace = read_trace_log(problem_folder() / "dtr" / (name + ".log"));
        ASSERT_TRUE(trace) << trace.error().message;
        const auto peak = static_cast<double>(unbounded_peak(*trace).value);
        for (const auto& [heuristic, entries] : heuristics.items()) {
            const auto at = kPublishedNames.find(heuristic);
            if (at == kPublishedNames.end()) continue;  // the random heuristic is not compared
            for (const auto& entry : entries) {
                const double ratio = entry.at("ratio").get<double>();
                const DtrOutcome outcome =
                    evict_online(*trace, Bytes(static_cast<std::int64_t>(peak * ratio)),
                                 {.heuristic = at->second, .thrash = 2});
                const std::string what = name + " " + heuristic + " at " + std::to_string(ratio);
                EXPECT_EQ(word(outcome.status), entry.at("status").get<std::string>()) << what;
                EXPECT_NEAR(outcome.overhead(), entry.at("overhead").get<double>(), 1e-4) << what;
                ++compared;
            }
        }
    }
    EXPECT_GT(compared, 200);
}

}  // namespace
}  // namespace rematlas
