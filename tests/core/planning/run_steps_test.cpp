#include "core/planning/run_steps.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace rematlas {
namespace {

const std::string kHeader =
    R"({"format": "rematlas.steps", "version": 1, "model": "Net", "budget_bytes": 4096, "process": 7})"
    "\n";
const std::string kRecorded = R"({"step": 0, "by": "recorded", "seconds": 0.5, "peak_bytes": 5000})"
                              "\n";
const std::string kPlanned =
    R"({"step": 1, "by": "plan", "seconds": 0.25, "peak_bytes": 4000, "planned_peak_bytes": 4096, )"
    R"("overhead": 1.125})"
    "\n";
const std::string kOriginal =
    R"({"step": 2, "by": "original", "seconds": 1, "peak_bytes": 6000, "why": "another shape"})"
    "\n";

void expect_all(const RunSteps& run) {
    EXPECT_EQ(run.model, "Net");
    EXPECT_EQ(run.budget, Bytes(4096));
    ASSERT_EQ(run.steps.size(), 3u);
    EXPECT_EQ(run.steps[0].by, StepRunner::recorded);
    EXPECT_EQ(run.steps[0].peak, Bytes(5000));
    EXPECT_FALSE(run.steps[0].planned_peak);
    EXPECT_EQ(run.steps[1].by, StepRunner::plan);
    EXPECT_EQ(run.steps[1].seconds, 0.25);
    EXPECT_EQ(run.steps[1].planned_peak, Bytes(4096));
    EXPECT_EQ(run.steps[1].planned_overhead, 1.125);
    EXPECT_EQ(run.steps[2].why, "another shape");
}

TEST(RunSteps, a_file_that_grows_is_read_as_it_comes_whatever_the_pieces) {
    const std::string text = kHeader + kRecorded + kPlanned + kOriginal;
    for (std::size_t piece = 1; piece <= text.size(); piece += 7) {
        RunReader reader("run.jsonl");
        EXPECT_FALSE(reader.has_begun());
        for (std::size_t begin = 0; begin < text.size(); begin += piece) {
            const Result<void> added = reader.add(std::string_view(text).substr(begin, piece));
            ASSERT_TRUE(added) << added.error().message;
        }
        EXPECT_TRUE(reader.has_begun());
        expect_all(reader.run());
    }
}

TEST(RunSteps, a_line_that_is_being_written_waits_for_its_rest) {
    RunReader reader("run.jsonl");
    ASSERT_TRUE(reader.add(kHeader + kRecorded.substr(0, 20)));
    EXPECT_TRUE(reader.run().steps.empty());
    ASSERT_TRUE(reader.add(kRecorded.substr(20)));
    EXPECT_EQ(reader.run().steps.size(), 1u);
}

TEST(RunSteps, what_is_wrong_is_told_with_its_line) {
    const auto complaint = [](const std::string& text) {
        RunReader reader("run.jsonl");
        const Result<void> added = reader.add(text);
        EXPECT_FALSE(added) << text;
        EXPECT_FALSE(reader.add(kRecorded)) << "nothing is read behind a fault";
        return added ? std::string() : added.error().message;
    };
    EXPECT_EQ(complaint("{}\n"), "run.jsonl: line 1: format is missing: this is no rematlas.steps file");
    EXPECT_EQ(complaint(kHeader + kPlanned), "run.jsonl: line 2: step is not 0, which would be the next one");
    EXPECT_EQ(complaint(kHeader + R"({"step": 0, "by": "nobody", "seconds": 1, "peak_bytes": 1})" + "\n"),
              "run.jsonl: line 2: by 'nobody' is not known");
    EXPECT_EQ(complaint(kHeader + R"({"step": 0, "by": "plan", "seconds": -1, "peak_bytes": 1})" + "\n"),
              "run.jsonl: line 2: seconds is out of range");
    EXPECT_EQ(complaint(kHeader + R"({"step": 0, "by": "plan", "seconds": 1, "peak_bytes": -1})" + "\n"),
              "run.jsonl: line 2: peak_bytes is negative");
    EXPECT_NE(complaint(kHeader + "nothing\n").find("run.jsonl: line 2: not valid JSON"), std::string::npos);
    EXPECT_EQ(complaint(kHeader + std::string(2 << 20, ' ')),
              "run.jsonl: line 2 is longer than 1048576 bytes");
}

TEST(RunSteps, a_file_without_its_first_line_is_refused) {
    const auto path = std::filesystem::temp_directory_path() / "rematlas_run_steps_test.jsonl";
    std::ofstream(path) << kHeader << kRecorded << kPlanned << kOriginal;
    const Result<RunSteps> run = read_run(path);
    ASSERT_TRUE(run) << run.error().message;
    expect_all(*run);
    std::ofstream(path) << kHeader.substr(0, 10);
    EXPECT_EQ(read_run(path).error().message, path.string() + ": has no complete first line");
    std::filesystem::remove(path);
}

}  // namespace
}  // namespace rematlas
