#include "core/graph/graph_file.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "core/addresses/address_plan.h"
#include "core/graph/flat_graph.h"
#include "tests/core/support/random_graph.h"
#include "tests/core/support/small_graph.h"

namespace rematlas {
namespace {

using nlohmann::json;

bool same_content(const Graph& a, const Graph& b) {
    return graph_text(a) == graph_text(b);
}

TEST(GraphFile, a_written_graph_reads_back_equal) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        const Graph graph = random_training_graph(seed);
        const Result<Graph> read = parse_graph(graph_text(graph), "g");
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_TRUE(same_content(graph, *read));
    }
}

TEST(GraphFile, facts_of_the_device_read_back_equal) {
    Graph graph = small_graph();
    graph.device = Device{.name = "H200",
                          .memory = Bytes(1LL << 37),
                          .to_host_bytes_per_second = 5e10,
                          .to_device_bytes_per_second = 6e10,
                          .kind = "cuda",
                          .alignment = 512,
                          .allocator = CachingAllocatorOptions{true, 1LL << 22}};
    const Result<Graph> read = parse_graph(graph_text(graph), "g");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->device, graph.device);
    EXPECT_EQ(alignment_for(*read), 512);
}

TEST(GraphFile, every_truncation_is_refused_with_one_line) {
    const std::string text = graph_text(small_graph());
    for (std::size_t length = 0; length + 2 < text.size(); ++length) {
        const Result<Graph> read = parse_graph(text.substr(0, length), "g.graph.json");
        ASSERT_FALSE(read) << length;
        EXPECT_TRUE(read.error().message.starts_with("g.graph.json: "));
        EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
    }
}

struct Hostile {
    const char* what;
    std::function<void(json&)> damage;
    const char* named;  ///< part of the message
};

void PrintTo(const Hostile& hostile, std::ostream* out) {
    *out << hostile.what;
}

class HostileGraph : public testing::TestWithParam<Hostile> {};

TEST_P(HostileGraph, is_refused_and_the_cause_is_named) {
    json graph = json::parse(graph_text(small_graph()));
    GetParam().damage(graph);
    const Result<Graph> read = parse_graph(graph.dump(), "g");
    ASSERT_FALSE(read) << GetParam().what;
    EXPECT_NE(read.error().message.find(GetParam().named), std::string::npos) << read.error().message;
    EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
}

const Hostile kHostile[] = {
    {"alignment_of_nothing",
     [](json& g) {
         g["device"] = {{"alignment_bytes", 0}};
     },
     "alignment_bytes"},
    {"segments_below_the_smallest",
     [](json& g) {
         g["device"] = {{"allocator", {{"large_segment_bytes", -1}}}};
     },
     "large_segment_bytes"},
    {"wrong_version", [](json& g) { g["version"] = 2; }, "version 2"},
    {"wrong_format", [](json& g) { g["format"] = "rematlas.sweep"; }, "format"},
    {"no_format", [](json& g) { g.erase("format"); }, "format is missing"},
    {"not_an_object", [](json& g) { g = json::array(); }, "not an object"},
    {"tensors_no_list", [](json& g) { g["tensors"] = 3; }, "tensors"},
    {"no_ops", [](json& g) { g["ops"] = json::array(); }, "no ops"},
    {"negative_bytes", [](json& g) { g["tensors"][1]["bytes"] = -1; }, "negative"},
    {"bytes_a_string", [](json& g) { g["tensors"][1]["bytes"] = "100"; }, "bytes is not an integer"},
    {"bytes_a_fraction", [](json& g) { g["tensors"][1]["bytes"] = 1.5; }, "bytes is not an integer"},
    {"bytes_too_large", [](json& g) { g["tensors"][1]["bytes"] = std::uint64_t(-1); }, "too large"},
    {"bytes_sum_too_large",
     [](json& g) {
         for (auto& t : g["tensors"]) t["bytes"] = INT64_MAX / 3;
     },
     "too large"},
    {"times_sum_too_large",
     [](json& g) {
         for (auto& o : g["ops"]) o["time_ns"] = INT64_MAX / 4;
     },
     "too large"},
    {"negative_time", [](json& g) { g["ops"][1]["time_ns"] = -5; }, "negative time"},
    {"negative_workspace", [](json& g) { g["ops"][1]["workspace_bytes"] = -5; }, "negative workspace"},
    {"time_missing", [](json& g) { g["ops"][1].erase("time_ns"); }, "time_ns is missing"},
    {"duplicate_tensor", [](json& g) { g["tensors"][2]["id"] = 1; }, "given twice"},
    {"duplicate_op", [](json& g) { g["ops"][2]["id"] = 1; }, "given twice"},
    {"tensor_id_out_of_range", [](json& g) { g["tensors"][2]["id"] = 99; }, "outside"},
    {"missing_tensor_read", [](json& g) { g["ops"][1]["inputs"] = {99}; }, "does not exist"},
    {"missing_tensor_made", [](json& g) { g["ops"][1]["outputs"] = {-3}; }, "does not exist"},
    {"missing_result", [](json& g) { g["results"] = {44}; }, "does not exist"},
    {"result_twice",
     [](json& g) {
         g["results"] = {5, 5};
     },
     "twice"},
    {"made_twice", [](json& g) { g["ops"][1]["outputs"] = {1}; }, "is made by op 0 and by op 1"},
    {"cycle", [](json& g) { g["ops"][0]["inputs"] = {2}; }, "cycle"},
    {"own_output", [](json& g) { g["ops"][0]["inputs"] = {1}; }, "cycle"},
    {"unknown_phase", [](json& g) { g["ops"][0]["phase"] = "sideways"; }, "sideways"},
    {"unknown_kind", [](json& g) { g["tensors"][0]["kind"] = "vapour"; }, "vapour"},
    {"recomputable_no_boolean", [](json& g) { g["ops"][0]["recomputable"] = "no"; }, "recomputable"},
    {"inplace_no_pair", [](json& g) { g["ops"][1]["inplace"] = {{2}}; }, "inplace"},
    {"inplace_of_strangers",
     [](json& g) {
         g["ops"][1]["inplace"] = {{2, 3}};
     },
     "inplace"},
    {"mutates_what_is_made", [](json& g) { g["ops"][1]["mutates"] = {1}; }, "not resident"},
    {"of_nothing", [](json& g) { g["ops"][3]["of"] = 77; }, "of"},
    {"block_with_stranger",
     [](json& g) {
         g["blocks"] = {{{"name", "b"}, {"ops", {0, 1, 2, 3, 9}}}};
     },
     "blocks[0]"},
    {"block_without_all",
     [](json& g) {
         g["blocks"] = {{{"name", "b"}, {"ops", {0, 1, 2, 3}}}};
     },
     "is in none"},
    {"block_own_parent",
     [](json& g) {
         g["blocks"] = {{{"name", "b"}, {"parent", 0}, {"ops", {0, 1, 2, 3, 4}}}};
     },
     "parent"},
};

INSTANTIATE_TEST_SUITE_P(All, HostileGraph, testing::ValuesIn(kHostile),
                         [](const auto& param) { return std::string(param.param.what); });

TEST(GraphFile, a_tensor_read_twice_by_one_op_is_needed_once) {
    json graph = json::parse(graph_text(small_graph()));
    graph["ops"][1]["inputs"] = {1, 1};
    const Result<Graph> read = parse_graph(graph.dump(), "g");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->ops[OpId(1)].inputs, std::vector<TensorId>{TensorId(1)});
}

TEST(GraphFile, unknown_fields_are_left_alone) {
    json graph = json::parse(graph_text(small_graph()));
    graph["comment"] = "new";
    graph["ops"][0]["colour"] = "red";
    EXPECT_TRUE(parse_graph(graph.dump(), "g"));
}

TEST(LeastPeak, is_the_largest_footprint_or_the_results) {
    const Graph graph = small_graph();
    const PeakBound bound = least_peak(flatten(graph));
    EXPECT_EQ(bound.bytes, Bytes(10 + 400));  // backward_b: a, b, its gradient, and what it makes
    EXPECT_EQ(bound.op, OpId(3));
}

TEST(Flatten, counts_residents_once_and_marks_what_must_run) {
    Graph graph = small_graph();
    const FlatGraph flat = flatten(graph);
    EXPECT_EQ(flat.resident_bytes, 10);
    EXPECT_EQ(flat.base_time, 50);
    EXPECT_EQ(std::vector<int>(flat.required.begin(), flat.required.end()), std::vector<int>(5, 1));
    EXPECT_TRUE(flat.inputs[0].empty());
}

}  // namespace
}  // namespace rematlas
