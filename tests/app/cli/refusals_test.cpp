// Tests that a command reports an argument that it cannot use: a file, an option, a pin.
#include "core/base/files.h"
#include "tests/app/cli/command_line.h"

namespace rematlas {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class Refusals : public CommandLine {
  protected:
    std::string kept_schedule() const {
        run("solve " + file("g.graph.json") + " --budget 100% --solver keep-all -o " +
            file("s.schedule.json"));
        return file("s.schedule.json");
    }
};

TEST_F(Refusals, a_pin_that_asks_for_nothing_is_told_and_the_answer_stands) {
    for (Op& op : graph_.ops)
        if (op.phase == Phase::forward) op.module = "layer." + std::to_string(&op - &*graph_.ops.begin());
    ASSERT_TRUE(write_graph(graph_, file("g.graph.json")));
    for (const std::string command : {"solve --budget 100% --solver keep-all ", "sweep --solver keep-all "}) {
        const Ran ran = run(command + file("g.graph.json") + " --json --pin 'layer.2=recompute'");
        EXPECT_EQ(ran.exit, 0) << ran.err;
        EXPECT_THAT(ran.err, HasSubstr("note: pin 'layer.2=recompute' asks for nothing")) << command;
        EXPECT_TRUE(json::accept(ran.out));
        EXPECT_EQ(run(command + file("g.graph.json") + " --pin 'layer.2=keep'").err, "");
    }
}

TEST_F(Refusals, a_file_of_another_kind_is_called_what_it_is) {
    const std::string schedule = kept_schedule(), graph = file("g.graph.json");
    ASSERT_TRUE(write_file(file("x.plan"), "{\"format\": \"rematlas.plan\", \"version\": 1}\n"));
    expect_error(run("check " + graph + " " + file("x.plan")), 2, "x.plan: is a plan, not a schedule");
    expect_error(run("diff " + file("x.plan") + " " + schedule), 2, "x.plan: is a plan, not a schedule");
    expect_error(run("diff " + schedule + " " + file("x.plan")), 2, "x.plan: is a plan, not a schedule");
    expect_error(run("check " + graph + " " + graph), 2, "g.graph.json: is a graph, not a schedule");
}

TEST_F(Refusals, a_file_that_may_not_grow_is_told_and_the_old_one_stays) {
    const std::string schedule = kept_schedule(), old = slurp(schedule);
    const Ran ran = run("solve " + file("g.graph.json") + " --budget 100% --solver keep-all -o " + schedule,
                        "ulimit -f 1; ");  // blocks of 512 bytes
    expect_error(ran, 2, "s.schedule.json: cannot write: File too large");
    EXPECT_EQ(slurp(schedule), old);
}

TEST_F(Refusals, check_refuses_an_optimal_schedule_that_is_above_its_bound) {
    json schedule = json::parse(slurp(kept_schedule()));
    ASSERT_EQ(schedule["status"], "optimal");
    schedule["bound"]["overhead"] = 0.9;
    ASSERT_TRUE(write_file(file("s.schedule.json"), schedule.dump()));
    const std::string check = "check " + file("g.graph.json") + " " + file("s.schedule.json");
    expect_error(run(check), 1, "called optimal");
    schedule["status"] = "feasible";
    schedule["bound"]["gap"] = schedule["predicted"]["overhead"].get<double>() / 0.9 - 1;
    ASSERT_TRUE(write_file(file("s.schedule.json"), schedule.dump()));
    EXPECT_EQ(run(check).exit, 0);
}

TEST_F(Refusals, a_table_goes_with_the_form_that_has_tables) {
    const std::string schedule = kept_schedule();
    run("sweep " + file("g.graph.json") + " --solver keep-all --budgets 2 -o " + file("w.sweep.json"));
    const std::string out = " -o " + file("t.csv");
    expect_error(run("export " + file("w.sweep.json") + " --format csv --table blocks" + out), 2, "--table");
    expect_error(run("export " + schedule + " --format dot --table steps" + out), 2, "--table");
    EXPECT_EQ(run("export " + schedule + " --format csv --table blocks" + out).exit, 0);
    EXPECT_EQ(run("export " + schedule + " --format csv" + out).exit, 0);
    EXPECT_EQ(run("export " + file("w.sweep.json") + " --format csv" + out).exit, 0);
}

TEST_F(Refusals, a_library_goes_with_options_that_use_one) {
    const std::string solve = "solve " + file("g.graph.json") + " --budget 100% --milp highs ";
    expect_error(run(solve + "--solver atlas"), 2, "--milp: solver atlas uses no such library");
    expect_error(run(solve + "--solver hiremate"), 2, "with these options");
    json config = json::parse(run("config generate hiremate").out);
    config["options"]["level_solver"] = "milp";
    ASSERT_TRUE(write_file(file("c.json"), config.dump()));
    EXPECT_THAT(run(solve + "--config " + file("c.json")).err, testing::Not(HasSubstr("these options")));
}

}  // namespace
}  // namespace rematlas
