// Tests the calls of `rematlas serve` without a network.
#include "app/cli/serve/page_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <nlohmann/json.hpp>

#include "core/checking/check.h"
#include "core/schedule/run_sequence.h"
#include "core/schedule/schedule_file.h"
#include "tests/core/support/long_chain.h"
#include "viz/paint/draw.h"

namespace rematlas {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::string page_token(64, 'c');

class Served : public testing::Test {
  protected:
    void SetUp() override { start({.graph = &graph_}); }

    void start(const ReportOf& report) {
        server_.emplace(report, "<the page>", page_token, 1, [this] {
            { const std::lock_guard lock(mutex_); }
            changed_.notify_all();
        });
    }

    static RequestHead head(const std::string& method, const std::string& target) {
        return {.method = method,
                .target = target,
                .headers = {{"Host", "localhost:1"}, {"Authorization", "Bearer " + page_token}}};
    }
    HttpAnswer get(const std::string& target) {
        EXPECT_FALSE(server_->refuse(head("GET", target))) << target;
        return server_->answer(head("GET", target), "", true).value();
    }
    HttpAnswer post(const std::string& target, const std::string& body) {
        RequestHead asked = head("POST", target);
        asked.headers.emplace_back("Content-Type", "application/json");
        asked.headers.emplace_back("Content-Length", std::to_string(body.size()));
        EXPECT_FALSE(server_->refuse(asked)) << target;
        return server_->answer(asked, body, true).value();
    }
    json state(int since = 0) { return json::parse(get("/state?since=" + std::to_string(since)).body); }

    int start_job(const std::string& path, const json& question) {
        const HttpAnswer answer = post(path, question.dump());
        EXPECT_EQ(answer.status, 202) << answer.body;
        return json::parse(answer.body)["job"];
    }
    json job(int id) {
        const json told = state();
        for (const json& one : told["jobs"])
            if (one["id"] == id) return one;
        return nullptr;
    }
    /// Waits until the job has ended. Returns the job.
    json ended(int id) {
        json found;
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] {
            found = job(id);
            return found["phase"] != "waiting" && found["phase"] != "running";
        });
        return found;
    }

    std::string error_of(const std::string& path, const json& question, int status = 400) {
        const HttpAnswer answer = post(path, question.dump());
        EXPECT_EQ(answer.status, status) << answer.body;
        return json::parse(answer.body).value("error", "");
    }

    const Graph graph_ = [] {
        Graph graph = long_chain(ChainKind::uneven, 40);
        graph.name = "chain";
        return graph;
    }();
    const Bytes peak_ = keep_all_peak(flatten(graph_));
    std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<PageServer> server_;
};

TEST_F(Served, the_page_is_the_report) {
    const RequestHead asked{
        .method = "GET", .target = "/?token=" + page_token, .headers = {{"Host", "127.0.0.1:1"}}};
    const HttpAnswer page = server_->answer(asked, "", true).value();
    EXPECT_EQ(page.status, 200);
    EXPECT_EQ(page.body, "<the page>");
    EXPECT_THAT(page.policy, HasSubstr("frame-ancestors 'none'"));
    RequestHead stranger = asked;
    stranger.target = "/?token=b";
    EXPECT_EQ(server_->refuse(stranger)->status, 401);
    EXPECT_EQ(server_->answer(stranger, "", true)->status, 401);
}

TEST_F(Served, tells_what_can_be_asked) {
    const json about = state()["about"];
    EXPECT_EQ(about["graphs"],
              json::parse(R"([{"name": "chain", "peak": )" + std::to_string(peak_.value) + "}]"));
    EXPECT_EQ(about["solvers"][0].size(), 2u);
    EXPECT_EQ(about["processors"], 1);
}

TEST_F(Served, a_plan_that_is_found_is_told_once_and_passes_the_check) {
    const int job = start_job("/solve", {{"graph", "chain"}, {"budget", "60%"}, {"solver", "chen-greedy"}});
    const json done = ended(job);
    ASSERT_EQ(done["phase"], "done") << done;
    ASSERT_EQ(done["plan"], 1) << "after the step without recomputation";
    const json told = state();
    ASSERT_EQ(told["plans"].size(), 1u);
    EXPECT_EQ(told["plans"][0]["index"], 1);
    EXPECT_EQ(told["plans"][0]["solver"], "chen-greedy");
    EXPECT_EQ(told["bounds"].size(), 2u);
    EXPECT_EQ(state(told["revision"])["plans"].size(), 0u);

    const HttpAnswer file = get("/schedule?plan=1");
    EXPECT_EQ(file.file_name, "plan-1.schedule.json");
    const Result<Schedule> schedule = parse_schedule(file.body, "plan");
    ASSERT_TRUE(schedule) << schedule.error().message;
    const CheckReport report = check(graph_, *schedule);
    EXPECT_TRUE(report.ok()) << report.violations.front();
    EXPECT_EQ(schedule->budget.value, peak_.value * 6 / 10);
    EXPECT_LE(report.peak, schedule->budget);
    EXPECT_EQ(report.peak.value, told["plans"][0]["peak"]);

    EXPECT_EQ(ended(start_job("/solve", {{"budget", "60%"}, {"solver", "chen-greedy"}}))["plan"], 1);
    EXPECT_EQ(state()["plans"].size(), 1u) << "the same steps are the same plan";
}

TEST_F(Served, the_step_without_recomputation_and_given_plans_can_be_kept_too) {
    const Result<Schedule> plain = parse_schedule(get("/schedule?plan=0").body, "plan");
    ASSERT_TRUE(plain);
    EXPECT_EQ(plain->peak, peak_);
    const Result<Outcome> outcome =
        solve(graph_, SolveRequest{.solver = "chen-greedy", .budget = *parse_budget("60%")});
    ASSERT_TRUE(outcome && outcome->schedule());
    const Schedule& given = *outcome->schedule();
    start({.graph = &graph_, .schedules = {{"mine", &given}}});
    EXPECT_EQ(parse_schedule(get("/schedule?plan=0").body, "plan")->steps, given.steps);
    EXPECT_EQ(parse_schedule(get("/schedule?plan=1").body, "plan")->peak, peak_);
    EXPECT_EQ(state()["plans"].size(), 0u) << "the page holds both";
    for (const char* plan : {"-1", "2", "", "x", "99999999999999999999", "1x"})
        EXPECT_EQ(get(std::string("/schedule?plan=") + plan).status, 404) << plan;
    EXPECT_EQ(get("/schedule").status, 404);
}

TEST_F(Served, a_sweep_has_a_plan_for_each_of_its_points) {
    const int job = start_job("/sweep", {{"solvers", {"chen-greedy", "revolve"}},
                                         {"budgets", {"50%", peak_.value * 7 / 10, "100%"}}});
    const json done = ended(job);
    ASSERT_EQ(done["phase"], "done") << done;
    const json told = state();
    ASSERT_EQ(told["sweeps"].size(), 1u);
    EXPECT_EQ(told["sweeps"][0]["job"], job);
    ASSERT_EQ(told["sweeps"][0]["curves"].size(), 2u);
    int found = 0;
    for (const json& curve : told["sweeps"][0]["curves"]) {
        EXPECT_EQ(curve["points"].size(), 3u);
        for (const json& point : curve["points"]) {
            if (point["peak"].is_null()) continue;
            ++found;
            const Result<Schedule> schedule =
                parse_schedule(get("/schedule?plan=" + point["plan"].dump()).body, "plan");
            ASSERT_TRUE(schedule) << point;
            EXPECT_EQ(schedule->peak.value, point["peak"]);
            EXPECT_TRUE(check(graph_, *schedule).ok());
        }
    }
    EXPECT_GT(found, 3);
    EXPECT_THAT(done["words"].get<std::string>(), HasSubstr(std::to_string(found)));
}

TEST_F(Served, a_budget_that_is_too_small_is_answered_with_one_that_works) {
    const json no = ended(start_job("/solve", {{"budget", 1000}, {"solver", "chen-greedy"}}));
    EXPECT_EQ(no["phase"], "no schedule");
    EXPECT_THAT(no["words"].get<std::string>(), HasSubstr("a budget that works"));
    EXPECT_EQ(state()["plans"].size(), 0u);
}

TEST_F(Served, a_job_that_has_ended_cannot_be_cancelled) {
    const int job = start_job("/solve", {{"budget", "50%"}, {"solver", "dtr"}});
    ended(job);
    EXPECT_THAT(error_of("/cancel", {{"job", job}}, 409), HasSubstr("has ended"));
    EXPECT_THAT(error_of("/cancel", {{"job", 1000}}, 409), HasSubstr("no job 1000"));
}

TEST_F(Served, who_waits_is_told_as_soon_as_something_is_new) {
    const json told = state();
    const RequestHead asked = head("GET", "/state?since=" + told["revision"].dump());
    EXPECT_FALSE(server_->answer(asked, "", false)) << "nothing is new";
    EXPECT_TRUE(server_->answer(asked, "", true)) << "it must be answered";
    EXPECT_TRUE(server_->answer(head("GET", "/state"), "", false)) << "all that there is";
    ended(start_job("/solve", {{"budget", "90%"}, {"solver", "chen-greedy"}}));
    EXPECT_TRUE(server_->answer(asked, "", false));
}

TEST_F(Served, wrong_questions_are_told_by_their_fields) {
    const auto wrong = [&](const json& question) { return error_of("/solve", question); };
    EXPECT_THAT(wrong(json::object()), HasSubstr("budget is missing"));
    EXPECT_THAT(wrong({{"budget", "much"}}), HasSubstr("budget: "));
    EXPECT_THAT(wrong({{"budget", -5}}), HasSubstr("budget is not above 0"));
    EXPECT_THAT(wrong({{"budget", 0.5}}), HasSubstr("budget is not an integer"));
    EXPECT_THAT(wrong({{"budget", json::array()}}), HasSubstr("budget"));
    EXPECT_THAT(wrong({{"budget", "60%"}, {"solver", "magic"}}), HasSubstr("solver: "));
    EXPECT_THAT(wrong({{"budget", "60%"}, {"solver", 3}}), HasSubstr("solver is not a string"));
    EXPECT_THAT(wrong({{"budget", "60%"}, {"graph", "other"}}), HasSubstr("only 'chain'"));
    EXPECT_THAT(wrong({{"budget", "60%"}, {"offload", "some"}}), HasSubstr("offload: 'some'"));
    EXPECT_THAT(wrong({{"budget", "60%"}, {"solver", "rotor"}, {"offload", "all"}}), HasSubstr("offload: "));
    EXPECT_THAT(wrong({{"budget", "60%"}, {"time_limit", 0}}), HasSubstr("time_limit is not above 0"));
    EXPECT_THAT(wrong({{"budget", "60%"}, {"time_limit", "soon"}}), HasSubstr("time_limit: "));
    EXPECT_THAT(wrong({{"budget", "60%"}, {"output", "/tmp/x"}}), HasSubstr("'output' is not known"));
    EXPECT_THAT(wrong(json::array()), HasSubstr("is not an object"));
    EXPECT_THAT(error_of("/sweep", {{"count", 0}}), HasSubstr("from 1 to 64 budgets"));
    EXPECT_THAT(error_of("/sweep", {{"count", 65}}), HasSubstr("from 1 to 64 budgets"));
    EXPECT_THAT(error_of("/sweep", {{"budgets", json::array()}}), HasSubstr("from 1 to 64 budgets"));
    EXPECT_THAT(error_of("/sweep", {{"solvers", json::array()}}), HasSubstr("solvers: the list is empty"));
    EXPECT_THAT(error_of("/sweep", {{"solvers", {"dtr", "dtr"}}}), HasSubstr("twice"));
    EXPECT_THAT(error_of("/cancel", json::object()), HasSubstr("job is missing"));
    for (const char* body : {"", "{", "{}{}", "null", "[[[[", R"({"budget": 1, "budget": 2})"})
        EXPECT_EQ(post("/solve", body).status, 400) << body;
    EXPECT_EQ(post("/solve", std::string(8000, '[')).status, 400);
    EXPECT_EQ(state()["jobs"].size(), 0u) << "none of these is a job";
}

TEST_F(Served, a_time_limit_is_capped) {
    const int job =
        start_job("/solve", {{"budget", "90%"}, {"solver", "chen-greedy"}, {"time_limit", 1e300}});
    EXPECT_EQ(ended(job)["limit_seconds"], 3600);
}

TEST_F(Served, its_end_ends_the_jobs) {
    for (int i = 0; i < 5; ++i) start_job("/solve", {{"budget", "50%"}, {"time_limit", "1h"}});
    server_.reset();
}

}  // namespace
}  // namespace rematlas
