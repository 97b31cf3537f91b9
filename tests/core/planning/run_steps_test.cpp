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

TEST(RunSteps, what_is_wrong_with_a_header_is_told) {
    RunReader reader("run.jsonl");
    const Result<void> added = reader.add("{}\n");
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().message, "run.jsonl: line 1: format is missing: this is no rematlas.steps file");
    EXPECT_FALSE(reader.add(kHeader)) << "nothing is read behind it";
}

TEST(RunSteps, a_line_that_tells_no_step_is_skipped_and_told_with_its_number) {
    const auto complaint = [](const std::string& line) {
        RunReader reader("run.jsonl");
        EXPECT_TRUE(reader.add(kHeader + line + "\n" + kRecorded));
        EXPECT_EQ(reader.run().steps.size(), 1u) << "the line behind it is read";
        EXPECT_EQ(reader.run().skipped, 1u);
        return reader.run().why_skipped;
    };
    EXPECT_EQ(complaint(R"({"step": 0, "by": "nobody", "seconds": 1, "peak_bytes": 1})"),
              "line 2: by 'nobody' is not known");
    EXPECT_EQ(complaint(R"({"step": 0, "by": "plan", "seconds": -1, "peak_bytes": 1})"),
              "line 2: seconds is out of range");
    EXPECT_EQ(complaint(R"({"step": 0, "by": "plan", "seconds": 1, "peak_bytes": -1})"),
              "line 2: peak_bytes is negative");
    EXPECT_EQ(complaint(R"({"step": 9223372036854775807, "by": "plan", "seconds": 1, "peak_bytes": 1})"),
              "line 2: step is out of range");
    EXPECT_EQ(complaint(R"({"step": -1, "by": "plan", "seconds": 1, "peak_bytes": 1})"),
              "line 2: step is below 0, which would be the next one");
    EXPECT_NE(complaint("nothing").find("line 2: not valid JSON"), std::string::npos);
}

TEST(RunSteps, a_line_that_is_too_long_is_skipped_in_whatever_pieces_it_comes) {
    RunReader reader("run.jsonl");
    ASSERT_TRUE(reader.add(kHeader));
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(reader.add(std::string(1 << 20, ' ')));
    ASSERT_TRUE(reader.add("\n" + kRecorded + "nothing\n"));
    EXPECT_EQ(reader.run().steps.size(), 1u);
    EXPECT_EQ(reader.run().skipped, 2u);
    EXPECT_EQ(reader.run().why_skipped.substr(0, 7), "line 4:");
}

TEST(RunSteps, steps_behind_a_skipped_line_keep_their_numbers) {
    RunReader reader("run.jsonl");
    ASSERT_TRUE(reader.add(kHeader + kRecorded + "nothing\n" + kOriginal));
    ASSERT_EQ(reader.run().steps.size(), 2u);
    EXPECT_EQ(reader.run().steps[1].number, 2u);
}

TEST(RunSteps, a_run_begins_anew_at_a_header_even_behind_half_a_line) {
    const std::string other = R"({"format": "rematlas.steps", "version": 1, "model": "Other"})"
                              "\n";
    for (const std::string& half : {std::string(), kPlanned.substr(0, 30), kPlanned.substr(0, 1)}) {
        RunReader reader("run.jsonl");
        ASSERT_TRUE(reader.add(kHeader + kRecorded + half + other + kRecorded));
        EXPECT_EQ(reader.runs(), 2u);
        EXPECT_EQ(reader.run().model, "Other");
        EXPECT_EQ(reader.run().steps.size(), 1u);
        EXPECT_EQ(reader.run().skipped, half.empty() ? 0u : 1u);
    }
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
