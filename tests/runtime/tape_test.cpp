#include "runtime/replay/tape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/runtime/captured_model.h"

namespace rematlas {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Tape tape_with(c10::IValue argument) {
    Tape tape;
    tape.ops.push_back({.name = "aten::op", .arguments = {{.value = std::move(argument)}}});
    return tape;
}

c10::IValue through_file(const c10::IValue& argument) {
    const json text = json::parse(to_json(tape_with(argument)).dump());
    const Result<Tape> tape = tape_from_json(text, "test", 0, 1);
    if (!tape) ADD_FAILURE() << tape.error().message;
    return tape ? tape->ops[OpId(0)].arguments[0].value : c10::IValue();
}

TEST(Tape, KeepsTheTypesOfArguments) {
    EXPECT_TRUE(through_file(c10::IValue()).isNone());
    EXPECT_TRUE(through_file(true).isBool());
    EXPECT_EQ(through_file(std::int64_t{1} << 60).toInt(), std::int64_t{1} << 60);
    EXPECT_TRUE(through_file(1.0).isDouble()) << "a whole double is no integer";
    EXPECT_EQ(through_file(0.1).toDouble(), 0.1);
    EXPECT_EQ(through_file(-std::numeric_limits<double>::infinity()).toDouble(),
              -std::numeric_limits<double>::infinity());
    EXPECT_TRUE(std::isnan(through_file(std::numeric_limits<double>::quiet_NaN()).toDouble()));
    EXPECT_EQ(through_file(std::string("trunc")).toStringRef(), "trunc");
    EXPECT_EQ(through_file(c10::Device("cpu")).toDevice(), c10::Device("cpu"));
    EXPECT_EQ(through_file(std::vector<std::int64_t>{2, 3}).toIntVector(), (std::vector<std::int64_t>{2, 3}));
    EXPECT_TRUE(through_file(std::vector<std::int64_t>{}).isIntList()) << "an empty list keeps its type";
    EXPECT_EQ(through_file(std::vector<double>{0.5, 2.0}).toDoubleVector(), (std::vector<double>{0.5, 2.0}));
    EXPECT_TRUE(through_file(c10::List<bool>({true, false})).isBoolList());
}

TEST(Tape, OfACapturedModelSurvivesTheFile) {
    const Graph& graph = test::captured("gpt_scripted");
    ASSERT_TRUE(graph.replay);
    const Result<Tape> tape =
        tape_from_json(*graph.replay, graph.name, graph.tensors.size(), graph.ops.size());
    ASSERT_TRUE(tape) << tape.error().message;
    EXPECT_EQ(to_json(*tape), *graph.replay);
}

TEST(Tape, DamagedIsRefusedWithOneLine) {
    const Graph& graph = test::captured("mlp_scripted");
    const auto refuses = [&](const char* pointer, const json& value, const char* why) {
        json damaged = *graph.replay;
        damaged[json::json_pointer(pointer)] = value;
        const Result<Tape> tape =
            tape_from_json(damaged, "m.graph.json", graph.tensors.size(), graph.ops.size());
        ASSERT_FALSE(tape) << pointer;
        EXPECT_THAT(tape.error().message, StartsWith("m.graph.json: replay: "));
        EXPECT_THAT(tape.error().message, HasSubstr(why));
        EXPECT_EQ(tape.error().message.find('\n'), std::string::npos);
    };
    refuses("/version", 99, "version 99");
    refuses("/loss", "guess", "unknown loss");
    refuses("/operands/0/0", 100000, "tensor id out of range");
    refuses("/operands/0/1", "f31", "unknown type");
    refuses("/operands/0/4", -1, "geometry");
    refuses("/ops/0/arguments/0", {{"tensor", 100000}}, "operand out of range");
    refuses("/ops/0/returns/0", -7, "tensor id out of range");
    refuses("/ops/0", json::object(), "op");
    refuses("/threads", 0, "threads");
    refuses("/outputs", "none", "array");
}

}  // namespace
}  // namespace rematlas
