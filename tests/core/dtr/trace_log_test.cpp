// Tests the reader of published logs: the effect of each instruction, and the errors for wrong lines.
#include "core/dtr/trace_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/dtr/evict_online.h"

namespace rematlas {
namespace {

using testing::HasSubstr;

const std::string kStart = R"({"INSTRUCTION":"ANNOTATE","ANNOTATION":"START"}
{"INSTRUCTION":"CONSTANT","NAME":"w"}
{"INSTRUCTION":"MEMORY","NAME":"w","MEMORY":"8"}
)";
const std::string kCall = R"({"INSTRUCTION":"CALL","NAME":"mm","ARGS":["w","w"],"RESULT":["y","v"],"TIME":"5"}
{"INSTRUCTION":"MEMORY","NAME":"y","MEMORY":"4"}
{"INSTRUCTION":"ALIAS","NAME":"y","ALIAS":"-1"}
{"INSTRUCTION":"MEMORY","NAME":"v","MEMORY":"8"}
{"INSTRUCTION":"ALIAS","NAME":"v","ALIAS":"1"}
)";

Trace read(const std::string& text) {
    Result<Trace> trace = parse_trace_log(text, "log");
    EXPECT_TRUE(trace) << (trace ? "" : trace.error().message);
    return trace ? trace.take() : Trace();
}

std::string refused(const std::string& text) {
    const Result<Trace> trace = parse_trace_log(text, "log");
    return trace ? "accepted" : trace.error().message;
}

int count(const Trace& trace, Trace::Step step) {
    return static_cast<int>(std::count_if(trace.program.begin(), trace.program.end(),
                                          [&](const Trace::Instruction& i) { return i.step == step; }));
}

TEST(TraceLog, makes_storages_of_results_and_views_of_aliases) {
    const Trace trace = read(kStart + kCall);
    ASSERT_EQ(trace.ops.size(), 2u);
    EXPECT_EQ(trace.ops[1].time, 5);
    EXPECT_EQ(trace.ops[1].inputs, (std::vector<int>{0, 0}));
    ASSERT_EQ(trace.tensors.size(), 3u);
    EXPECT_EQ(trace.bytes, (std::vector<std::int64_t>{8, 4}));
    EXPECT_FALSE(trace.tensors[1].view);
    EXPECT_TRUE(trace.tensors[2].view);
    EXPECT_EQ(trace.tensors[2].storage, 0);
    EXPECT_EQ(trace.total_time, 5);
}

TEST(TraceLog, pins_constants_and_what_still_has_a_name_at_the_end) {
    EXPECT_EQ(count(read(kStart + kCall), Trace::Step::pin), 1 + 3);
    const std::string released = R"({"INSTRUCTION":"RELEASE","NAME":"y"})";
    EXPECT_EQ(count(read(kStart + kCall + released), Trace::Step::pin), 1 + 2);
}

TEST(TraceLog, forgets_what_comes_before_the_start) {
    const Trace trace = read(R"({"INSTRUCTION":"CONSTANT","NAME":"w"}
{"INSTRUCTION":"MEMORY","NAME":"w","MEMORY":"100"}
)" + kStart);
    EXPECT_EQ(trace.bytes, (std::vector<std::int64_t>{8}));
}

TEST(TraceLog, mutates_by_a_copy_that_takes_the_name) {
    const Trace trace = read(
        kStart + kCall + R"({"INSTRUCTION":"MUTATE","NAME":"add_","ARGS":["y","w"],"MUTATE":[0],"TIME":"2"}
{"INSTRUCTION":"CALL","NAME":"neg","ARGS":["y"],"RESULT":["z"],"TIME":1}
{"INSTRUCTION":"MEMORY","NAME":"z","MEMORY":4}
{"INSTRUCTION":"ALIAS","NAME":"z","ALIAS":-1}
)");
    ASSERT_EQ(trace.ops.size(), 4u);
    EXPECT_EQ(trace.bytes, (std::vector<std::int64_t>{8, 4, 4, 4}));
    EXPECT_EQ(trace.ops[2].inputs, (std::vector<int>{1, 0}));
    EXPECT_EQ(trace.ops[3].inputs, trace.ops[2].outputs);
    EXPECT_EQ(count(trace, Trace::Step::release), 1);
    EXPECT_EQ(unbounded_peak(trace), Bytes(8 + 4 + 4 + 4 - 4));
}

TEST(TraceLog, gives_a_tensor_more_names_by_copies) {
    const std::string copy = R"({"INSTRUCTION":"COPY","DST":"c","SRC":"y"}
{"INSTRUCTION":"RELEASE","NAME":"y"}
)";
    const Trace copied = read(kStart + kCall + copy);
    EXPECT_EQ(count(copied, Trace::Step::retain), 1);
    EXPECT_EQ(evict_online(copied, Bytes(12)).peak, Bytes(12));
    for (const std::string word : {"COPY_FROM", "COPYFROM"}) {
        const Trace moved = read(kStart + kCall + R"({"INSTRUCTION":")" + word + R"(","DST":"v","SRC":"y"})");
        EXPECT_EQ(count(moved, Trace::Step::retain), 1);
        EXPECT_EQ(count(moved, Trace::Step::release), 1);
        EXPECT_EQ(moved.program.back().id, 1);  // `v` now names the tensor of `y`
    }
}

TEST(TraceLog, passes_over_releases_of_names_that_are_not_defined) {
    const std::string stray = R"({"INSTRUCTION":"RELEASE","NAME":"nobody"})";
    EXPECT_EQ(count(read(kStart + stray), Trace::Step::release), 0);
}

TEST(TraceLog, names_the_line_that_is_wrong) {
    const auto fourth = [](const std::string& line) { return refused(kStart + line); };
    EXPECT_EQ(refused(""), "log: holds no instruction: this is no log of DTR");
    EXPECT_THAT(refused("{]"), HasSubstr("log: line 1"));
    EXPECT_EQ(refused("\n[]"), "log: line 2: is not an object");
    EXPECT_EQ(fourth("{}"), "log: line 4: INSTRUCTION is missing");
    EXPECT_EQ(fourth(R"({"INSTRUCTION":"JUMP"})"), "log: line 4: instruction 'JUMP' is not known");
    EXPECT_EQ(fourth(R"({"INSTRUCTION":"MEMORY","NAME":"w","MEMORY":"8"})"),
              "log: line 4: MEMORY does not follow what it describes");
    EXPECT_EQ(fourth(R"({"INSTRUCTION":"CONSTANT","NAME":"x"})"),
              "log: line 4: the file ends where MEMORY of 'x' is due");
    EXPECT_EQ(
        fourth("{\"INSTRUCTION\":\"CONSTANT\",\"NAME\":\"x\"}\n{\"INSTRUCTION\":\"RELEASE\",\"NAME\":\"x\"}"),
        "log: line 5: MEMORY of 'x' is due here");
    EXPECT_EQ(fourth("{\"INSTRUCTION\":\"CONSTANT\",\"NAME\":\"w\"}\n"
                     "{\"INSTRUCTION\":\"MEMORY\",\"NAME\":\"w\",\"MEMORY\":\"8\"}"),
              "log: line 5: 'w' is defined twice");
    EXPECT_EQ(fourth("{\"INSTRUCTION\":\"CONSTANT\",\"NAME\":\"x\"}\n"
                     "{\"INSTRUCTION\":\"MEMORY\",\"NAME\":\"x\",\"MEMORY\":\"-8\"}"),
              "log: line 5: MEMORY is negative");
    EXPECT_EQ(fourth("{\"INSTRUCTION\":\"CONSTANT\",\"NAME\":\"x\"}\n"
                     "{\"INSTRUCTION\":\"MEMORY\",\"NAME\":\"x\",\"MEMORY\":\"8 MB\"}"),
              "log: line 5: MEMORY is not an integer");
    EXPECT_EQ(fourth("{\"INSTRUCTION\":\"CONSTANT\",\"NAME\":\"x\"}\n"
                     "{\"INSTRUCTION\":\"MEMORY\",\"NAME\":\"x\",\"MEMORY\":\"1152921504606846969\"}"),
              "log: line 5: MEMORY: the sum passes 2^60");
    EXPECT_EQ(fourth(R"({"INSTRUCTION":"CALL","NAME":"f","ARGS":["x"],"RESULT":["y"],"TIME":"1"})"),
              "log: line 4: 'x' is not defined");
    EXPECT_EQ(fourth(R"({"INSTRUCTION":"CALL","NAME":"f","ARGS":["w"],"RESULT":[],"TIME":"1"})"),
              "log: line 4: RESULT is empty");
    EXPECT_EQ(fourth(R"({"INSTRUCTION":"CALL","NAME":"f","ARGS":[7],"RESULT":[],"TIME":"1"})"),
              "log: line 4: ARGS is not a list of names");
    EXPECT_EQ(fourth(R"({"INSTRUCTION":"CALL","NAME":"f","ARGS":[],"RESULT":["y"],"TIME":"-1"})"),
              "log: line 4: TIME is negative");
    EXPECT_EQ(
        fourth("{\"INSTRUCTION\":\"CALL\",\"NAME\":\"f\",\"ARGS\":[\"w\"],\"RESULT\":[\"y\"],\"TIME\":1}\n"
               "{\"INSTRUCTION\":\"MEMORY\",\"NAME\":\"y\",\"MEMORY\":\"8\"}\n"
               "{\"INSTRUCTION\":\"ALIAS\",\"NAME\":\"y\",\"ALIAS\":\"1\"}"),
        "log: line 6: ALIAS names no argument");
    EXPECT_EQ(fourth(R"({"INSTRUCTION":"MUTATE","NAME":"f","ARGS":["w"],"MUTATE":[1],"TIME":"1"})"),
              "log: line 4: MUTATE names no argument");
    EXPECT_EQ(fourth(R"({"INSTRUCTION":"MUTATE","NAME":"f","ARGS":["w"],"MUTATE":[],"TIME":"1"})"),
              "log: line 4: MUTATE is empty");
    EXPECT_EQ(fourth("{\"INSTRUCTION\":\"RELEASE\",\"NAME\":\"w\"}\n{\"INSTRUCTION\":\"COPY\",\"DST\":\"x\","
                     "\"SRC\":\"w\"}"),
              "log: line 5: 'w' was released before");
    EXPECT_EQ(fourth(R"({"INSTRUCTION":"ANNOTATE","ANNOTATION":"START"})"), "log: line 4: START comes twice");
    EXPECT_THAT(read_trace_log("/nowhere/x.log") ? "" : read_trace_log("/nowhere/x.log").error().message,
                HasSubstr("/nowhere/x.log"));
}

}  // namespace
}  // namespace rematlas
