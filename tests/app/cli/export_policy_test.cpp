// Tests the export of schedules as selective checkpointing for PyTorch and torchtitan.
#include <filesystem>

#include "core/base/files.h"
#include "tests/app/cli/command_line.h"

namespace rematlas {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class ExportPolicy : public CommandLine {
  protected:
    void SetUp() override {
        CommandLine::SetUp();
        std::filesystem::copy_file(std::string(REMATLAS_SOURCE_DIR) + "/resources/graphs/gpt.graph.json",
                                   file("gpt.graph.json"));
    }

    Ran solve(const std::string& graph, const std::string& options) {
        return run("solve " + file(graph) + " " + options + " -o " + file("s.schedule.json"));
    }

    Ran exported(const std::string& format) {
        return run("export " + file("s.schedule.json") + " --json --format " + format + " -o " +
                   file("out.policy"));
    }
};

TEST_F(ExportPolicy, a_schedule_of_the_class_keeps_its_figures) {
    const Ran solved = solve("gpt.graph.json", "--budget 85% --solver selective --json");
    ASSERT_EQ(solved.exit, 0) << solved.err;
    const Ran ran = exported("policy");
    ASSERT_EQ(ran.exit, 0) << ran.err;
    const json told = json::parse(ran.out), file_of = json::parse(slurp(file("out.policy")));
    const json answer = json::parse(solved.out);
    EXPECT_EQ(told["peak_bytes"], answer["peak_bytes"]);
    EXPECT_EQ(told["overhead"], answer["overhead"]);
    EXPECT_EQ(file_of["format"], "rematlas.policy");
    EXPECT_EQ(file_of["peak_bytes"], answer["peak_bytes"]);
    EXPECT_LE(file_of["peak_bytes"].get<std::int64_t>(), file_of["budget_bytes"].get<std::int64_t>());
    ASSERT_EQ(file_of["regions"].size(), told["regions"].get<std::size_t>());
    ASSERT_FALSE(file_of["regions"].empty());
    const std::string module = file_of["regions"][0]["module"];
    EXPECT_THAT(module, HasSubstr("blocks."));
    bool has_product = false;
    for (const json& op : file_of["regions"][0]["ops"])
        has_product = has_product || (op["op"] == "aten.addmm.default" && op["tensors"].size() == 3);
    EXPECT_TRUE(has_product) << file_of["regions"][0];
}

TEST_F(ExportPolicy, a_schedule_of_another_class_is_solved_again) {
    ASSERT_EQ(solve("gpt.graph.json", "--budget 85% --solver dtr").exit, 0);
    const Ran ran = exported("policy");
    ASSERT_EQ(ran.exit, 0) << ran.err;
    const json told = json::parse(ran.out);
    EXPECT_LE(told["peak_bytes"].get<std::int64_t>(), told["budget_bytes"].get<std::int64_t>());
    EXPECT_GT(told["overhead"].get<double>(), 1);
    const Ran words = run("export " + file("s.schedule.json") + " --format policy -o " + file("p.json"));
    EXPECT_THAT(words.out, HasSubstr("with selective checkpointing"));
}

TEST_F(ExportPolicy, torchtitan_gets_selectors) {
    ASSERT_EQ(solve("gpt.graph.json", "--budget 90% --solver selective").exit, 0);
    ASSERT_EQ(exported("torchtitan").exit, 0);
    const std::string text = slurp(file("out.policy"));
    EXPECT_THAT(text, HasSubstr("blocks.*"));
    EXPECT_THAT(text, HasSubstr("::aten."));
    EXPECT_THAT(text, HasSubstr("overhead 1."));
    EXPECT_EQ(text.back(), '\n');
}

TEST_F(ExportPolicy, what_cannot_be_exported_says_why) {
    ASSERT_EQ(solve("g.graph.json", "--budget 100% --solver keep-all").exit, 0);
    expect_error(exported("policy"), 2, "was not captured from a model");
    ASSERT_EQ(solve("gpt.graph.json", "--budget 389376 --solver rotor").exit, 0);
    expect_error(exported("policy"), 1, "the least that was found takes");
    ASSERT_EQ(solve("gpt.graph.json", "--budget 85% --solver dtr --pin 'blocks.*=recompute'").exit, 0);
    expect_error(exported("policy"), 2, "was solved under pins");
}

}  // namespace
}  // namespace rematlas
