// Runs the lines that `rematlas export` prints for users to paste. Lines for Python are run only if Python is
// installed.
#include <filesystem>

#include "tests/app/cli/command_line.h"

namespace rematlas {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class ExportLines : public CommandLine {
  protected:
    void SetUp() override {
        CommandLine::SetUp();
        std::filesystem::copy_file(std::string(REMATLAS_SOURCE_DIR) + "/resources/graphs/gpt.graph.json",
                                   file("gpt.graph.json"));
        ASSERT_EQ(run("solve " + file("gpt.graph.json") + " --budget 85% --solver selective -o " +
                      file("s.schedule.json"))
                      .exit,
                  0);
    }

    json exported(const std::string& words) {
        const Ran ran = run("export " + file("s.schedule.json") + " --json " + words);
        EXPECT_EQ(ran.exit, 0) << ran.err;
        return ran.exit == 0 ? json::parse(ran.out)["lines"] : json::array();
    }

    std::string at(const json& all, const std::string& where) {
        for (const json& lines : all)
            if (lines["where"] == where) return lines["text"];
        return {};
    }

    /// Runs the text as if it were pasted into a shell. The program's folder is in the shell's PATH.
    Ran paste(const std::string& text) {
        std::ofstream(file("pasted")) << text;
        const std::string folder = std::filesystem::path(REMATLAS_PROGRAM).parent_path().string();
        const std::string command = "PATH=" + folder + ":$PATH sh -e " + file("pasted") + " >" + file("out") +
                                    " 2>" + file("err") + " </dev/null";
        const int status = std::system(command.c_str());
        return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, slurp(file("out")), slurp(file("err"))};
    }
};

TEST_F(ExportLines, flags_for_torchtitan_hold_the_selectors_and_nothing_else) {
    const std::string text = at(exported("--format torchtitan -o " + file("x.txt")), "shell");
    const Ran ran = paste("printf '[%s]\\n' " + text);
    ASSERT_EQ(ran.exit, 0) << ran.err;
    EXPECT_THAT(ran.out, testing::StartsWith("[--compile.memory_policy]\n[full]\n"
                                             "[--compile.full_recompute_save_ops]\n[blocks.*"));
    EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 4) << ran.out;
    EXPECT_THAT(ran.out, testing::Not(HasSubstr("#")));
}

TEST_F(ExportLines, tables_are_read_by_python) {
    const std::string text = at(exported("--format csv -o " + file("steps.csv")), "program");
    if (std::system("python3 -c pass 2>/dev/null") != 0) GTEST_SKIP() << "there is no python3";
    const Ran ran = paste("python3 - <<'END'\n" + text + "print(len(rows), sorted(rows[0]))\nEND\n");
    ASSERT_EQ(ran.exit, 0) << ran.err;
    const std::string table = slurp(file("steps.csv"));
    const auto lines = std::count(table.begin(), table.end(), '\n') - 1;
    EXPECT_THAT(ran.out, testing::StartsWith(std::to_string(lines) + " ["));
    EXPECT_THAT(ran.out, HasSubstr("'start_ns'"));
}

TEST_F(ExportLines, are_printed_where_they_are_asked_for) {
    const std::string plan = file("x.plan");
    EXPECT_EQ(run("export " + file("s.schedule.json") + " -o " + plan).out, "");
    const Ran told = run("export " + file("s.schedule.json") + " --lines -o " + plan);
    EXPECT_THAT(told.out, HasSubstr("In the training program:\n\nimport rematlas"));
    EXPECT_THAT(told.out, HasSubstr("plan=\"" + plan + "\""));
    EXPECT_THAT(told.out, HasSubstr("In a shell:\n\nrematlas run gpt_scripted.pt " + plan + " --verify\n"));
    EXPECT_TRUE(exported("--format chrome-trace -o " + file("trace.json")).empty());
}

TEST_F(ExportLines, pictures_are_drawn) {
    const std::string text = at(exported("--format dot -o " + file("x.dot")), "shell");
    EXPECT_THAT(text, HasSubstr("dot -Tsvg "));
    if (std::system("dot -V 2>/dev/null") != 0) GTEST_SKIP() << "there is no dot";
    const Ran ran = paste(text);
    EXPECT_EQ(ran.exit, 0) << ran.err;
    EXPECT_TRUE(std::filesystem::exists(file("x.svg")));
}

}  // namespace
}  // namespace rematlas
