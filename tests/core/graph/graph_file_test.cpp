#include "core/graph/graph_file.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/addresses/address_plan.h"
#include "core/base/files.h"
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

TEST(GraphFile, everything_that_a_graph_tells_reads_back) {
    Graph graph = small_graph();
    graph.tensors.push_back({"running_mean", Bytes(8), TensorKind::buffer});
    Op& b = graph.ops[OpId(1)];
    b.module = "layers.0";
    b.inplace = {{TensorId(2), TensorId(1)}};
    b.random = true;
    b.mutates = {TensorId(6)};
    b.recomputable = false;
    graph.ops[OpId(3)].of = OpId(1);
    graph.blocks = {Block{"root", "root", {}, {BlockId(1), BlockId(2)}, {}, {}, -1},
                    Block{"there", "root.there", BlockId(0), {}, {OpId(0), OpId(1), OpId(2)}, BlockId(2), 0},
                    Block{"back", "root.back", BlockId(0), {}, {OpId(3), OpId(4)}, BlockId(1), -1}};
    graph.provenance = std::make_shared<const json>(json{{"model", "m"}});
    graph.replay = std::make_shared<const json>(json{{"calls", {1}}});
    const Result<Graph> read = parse_graph(graph_text(graph), "g");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->name, "small");
    EXPECT_EQ(read->results, graph.results);
    EXPECT_EQ(*read->provenance, *graph.provenance);
    EXPECT_EQ(*read->replay, *graph.replay);
    EXPECT_EQ(read->sha256, sha256(graph_text(graph)));
    ASSERT_EQ(read->tensors.size(), graph.tensors.size());
    for (TensorId t : graph.tensors.ids()) {
        EXPECT_EQ(read->tensors[t].name, graph.tensors[t].name);
        EXPECT_EQ(read->tensors[t].bytes, graph.tensors[t].bytes);
        EXPECT_EQ(read->tensors[t].kind, graph.tensors[t].kind);
    }
    ASSERT_EQ(read->ops.size(), graph.ops.size());
    for (OpId op : graph.ops.ids()) {
        const Op &got = read->ops[op], &meant = graph.ops[op];
        EXPECT_EQ(std::tie(got.name, got.time, got.workspace, got.inputs, got.outputs, got.phase, got.module,
                           got.of, got.random, got.mutates, got.recomputable),
                  std::tie(meant.name, meant.time, meant.workspace, meant.inputs, meant.outputs, meant.phase,
                           meant.module, meant.of, meant.random, meant.mutates, meant.recomputable));
    }
    ASSERT_EQ(read->ops[OpId(1)].inplace.size(), 1u);
    EXPECT_EQ(read->ops[OpId(1)].inplace[0].out, TensorId(2));
    EXPECT_EQ(read->ops[OpId(1)].inplace[0].in, TensorId(1));
    ASSERT_EQ(read->blocks.size(), graph.blocks.size());
    for (BlockId id : graph.blocks.ids()) {
        const Block &got = read->blocks[id], &meant = graph.blocks[id];
        EXPECT_EQ(std::tie(got.name, got.path, got.parent, got.children, got.ops, got.twin, got.repeat_class),
                  std::tie(meant.name, meant.path, meant.parent, meant.children, meant.ops, meant.twin,
                           meant.repeat_class));
    }
}

TEST(GraphFile, what_a_graph_does_not_tell_is_as_in_a_graph_made_without_it) {
    const Result<Graph> read = parse_graph(R"({"format": "rematlas.graph", "version": 1, "name": "g",
        "tensors": [{"id": 0, "bytes": 4}], "results": [], "device": {}, "blocks": [{"name": "b", "ops": [0]}],
        "ops": [{"id": 0, "time_ns": 3, "inputs": [], "outputs": [0]}]})",
                                           "g");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->tensors[TensorId(0)].name, "t0");
    EXPECT_EQ(read->tensors[TensorId(0)].kind, TensorKind::activation);
    const Op& op = read->ops[OpId(0)];
    EXPECT_EQ(op.name, "op");
    EXPECT_EQ(op.module, "");
    EXPECT_EQ(op.workspace, Bytes(0));
    EXPECT_EQ(op.phase, Phase::forward);
    EXPECT_TRUE(op.inplace.empty() && op.mutates.empty() && !op.of && !op.random && op.recomputable);
    const Block& block = read->blocks[BlockId(0)];
    EXPECT_EQ(block.path, "b");
    EXPECT_TRUE(!block.parent.valid() && !block.twin.valid() && block.children.empty());
    EXPECT_EQ(block.repeat_class, -1);
    EXPECT_EQ(read->device, Device());
    EXPECT_FALSE(read->provenance || read->replay);
    json with_allocator = json::parse(graph_text(small_graph()));
    with_allocator["device"] = {{"allocator", json::object()}};
    EXPECT_EQ(parse_graph(with_allocator.dump(), "g")->device->allocator, CachingAllocatorOptions());
}

TEST(GraphFile, facts_of_the_device_are_accepted_up_to_their_limits) {
    const auto accepted = [](const json& device) {
        json graph = json::parse(graph_text(small_graph()));
        graph["device"] = device;
        const Result<Graph> read = parse_graph(graph.dump(), "g");
        EXPECT_TRUE(read || read.error().message.starts_with("g: device")) << read.error().message;
        return static_cast<bool>(read);
    };
    const std::int64_t mebibyte = 1 << 20;
    EXPECT_TRUE(accepted({{"alignment_bytes", 1}}));
    EXPECT_TRUE(accepted({{"alignment_bytes", mebibyte}}));
    EXPECT_FALSE(accepted({{"alignment_bytes", 0}}));
    EXPECT_FALSE(accepted({{"alignment_bytes", mebibyte + 1}}));
    EXPECT_TRUE(accepted({{"allocator", {{"large_segment_bytes", 2 * mebibyte}}}}));
    EXPECT_TRUE(accepted({{"allocator", {{"large_segment_bytes", mebibyte * mebibyte}}}}));
    EXPECT_FALSE(accepted({{"allocator", {{"large_segment_bytes", 2 * mebibyte - 1}}}}));
    EXPECT_FALSE(accepted({{"allocator", {{"large_segment_bytes", mebibyte * mebibyte + 1}}}}));
    EXPECT_TRUE(accepted({{"memory_bytes", 0}}));
    EXPECT_FALSE(accepted({{"memory_bytes", -1}}));
    for (const char* link : {"to_host_bytes_per_second", "to_device_bytes_per_second"}) {
        EXPECT_TRUE(accepted({{link, 0}}));
        EXPECT_TRUE(accepted({{link, 0.5}}));
        EXPECT_FALSE(accepted({{link, -0.5}})) << link;
        EXPECT_FALSE(accepted({{link, "fast"}})) << link;
    }
}

TEST(GraphFile, facts_of_the_device_read_back_equal) {
    Graph graph = small_graph();
    graph.device = Device{.name = "H200",
                          .memory = Bytes(1LL << 37),
                          .links = {.to_host_bytes_per_second = 5e10,
                                    .to_device_bytes_per_second = 6e10,
                                    .to_host_contended_bytes_per_second = 4e10,
                                    .to_device_contended_bytes_per_second = 2.5e10,
                                    .copy_latency = Nanoseconds(9000),
                                    .least_copy = Bytes(1 << 20)},
                          .kind = "cuda",
                          .alignment = 512,
                          .allocator = CachingAllocatorOptions{true, 1LL << 22}};
    const Result<Graph> read = parse_graph(graph_text(graph), "g");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->device, graph.device);
    EXPECT_EQ(alignment_for(*read), 512);
}

TEST(GraphFile, links_are_as_before_where_a_file_does_not_tell_more) {
    json graph = json::parse(graph_text(small_graph()));
    graph["device"] = {{"to_host_bytes_per_second", 5e10}, {"to_device_bytes_per_second", 6e10}};
    const Result<Graph> read = parse_graph(graph.dump(), "g");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->device,
              (Device{.name = "",
                      .memory = Bytes(0),
                      .links = {.to_host_bytes_per_second = 5e10, .to_device_bytes_per_second = 6e10}}));
    const json written = json::parse(graph_text(*read))["device"];
    for (const char* key : {"to_host_contended_bytes_per_second", "to_device_contended_bytes_per_second",
                            "copy_latency_ns", "least_copy_bytes"})
        EXPECT_FALSE(written.contains(key)) << key;
}

TEST(GraphFile, what_is_wrong_about_links_is_named) {
    const auto complaint = [](const char* key, const json& value) {
        json graph = json::parse(graph_text(small_graph()));
        graph["device"] = {{"to_host_bytes_per_second", 10}, {"to_device_bytes_per_second", 5}};
        graph["device"][key] = value;
        const Result<Graph> read = parse_graph(graph.dump(), "g");
        return read ? "" : read.error().message;
    };
    EXPECT_EQ(complaint("to_host_contended_bytes_per_second", 10), "");
    EXPECT_EQ(complaint("to_host_contended_bytes_per_second", 0.5), "");
    EXPECT_EQ(complaint("to_host_contended_bytes_per_second", 10.5),
              "g: device: to_host_contended_bytes_per_second is more than the speed without the other way");
    EXPECT_EQ(complaint("to_device_contended_bytes_per_second", 5.5),
              "g: device: to_device_contended_bytes_per_second is more than the speed without the other way");
    EXPECT_EQ(complaint("to_device_contended_bytes_per_second", 0),
              "g: device: to_device_contended_bytes_per_second is not positive");
    EXPECT_EQ(complaint("copy_latency_ns", 0), "");
    EXPECT_EQ(complaint("copy_latency_ns", 1'000'000'000), "");
    EXPECT_EQ(complaint("copy_latency_ns", 1'000'000'001), "g: device: copy_latency_ns is out of range");
    EXPECT_EQ(complaint("copy_latency_ns", -1), "g: device: copy_latency_ns is out of range");
    EXPECT_EQ(complaint("least_copy_bytes", -1), "g: device: least_copy_bytes is out of range");
    EXPECT_EQ(complaint("least_copy_bytes", "1MiB"), "g: device: least_copy_bytes is not an integer");
}

TEST(GraphFile, what_a_tensor_is_and_where_it_comes_from_reads_back) {
    Graph graph = small_graph();
    graph.tensors[TensorId(0)].layout = TensorLayout{"f32", {8, 3, 4}};
    graph.tensors[TensorId(1)].layout = TensorLayout{"bf16", {8, 4}, {1, 8}};
    graph.tensors[TensorId(2)].layout = TensorLayout{"i64", {}};
    graph.ops[OpId(1)].source = "model.py:41";
    graph.module_classes = {{"", "Net"}, {"layers.0", "Linear"}};
    const Result<Graph> read = parse_graph(graph_text(graph), "g");
    ASSERT_TRUE(read) << read.error().message;
    for (TensorId t : graph.tensors.ids()) EXPECT_EQ(read->tensors[t].layout, graph.tensors[t].layout);
    EXPECT_EQ(to_string(*read->tensors[TensorId(0)].layout), "f32[8,3,4]");
    EXPECT_EQ(to_string(*read->tensors[TensorId(1)].layout), "bf16[8,4] with strides (1,8)");
    EXPECT_EQ(to_string(*read->tensors[TensorId(2)].layout), "i64[]");
    EXPECT_EQ(read->ops[OpId(1)].source, "model.py:41");
    EXPECT_EQ(read->ops[OpId(0)].source, "");
    EXPECT_EQ(read->module_classes, graph.module_classes);
}

TEST(GraphFile, a_layout_that_is_none_is_refused) {
    const auto complaint = [](const std::function<void(json&)>& spoil) {
        json graph = json::parse(graph_text(small_graph()));
        graph["tensors"][1].update({{"dtype", "f32"}, {"shape", {8, 4}}});
        spoil(graph);
        const Result<Graph> read = parse_graph(graph.dump(), "g");
        return read ? std::string() : read.error().message;
    };
    EXPECT_EQ(complaint([](json&) {}), "");
    EXPECT_EQ(complaint([](json& g) { g["tensors"][1].erase("shape"); }), "g: tensors[1]: shape is missing");
    EXPECT_EQ(complaint([](json& g) {
                  g["tensors"][1]["shape"] = {8, -4};
              }),
              "g: tensors[1]: shape has a negative size");
    EXPECT_EQ(complaint([](json& g) {
                  g["tensors"][1]["shape"] = {8, "4"};
              }),
              "g: tensors[1]: shape is not an integer");
    EXPECT_EQ(complaint([](json& g) { g["tensors"][1]["strides"] = {1}; }),
              "g: tensors[1]: strides has 1 dimensions, shape has 2");
    EXPECT_EQ(complaint([](json& g) { g["tensors"][1]["shape"] = json(std::vector<int>(65, 1)); }),
              "g: tensors[1]: shape has too many dimensions");
    EXPECT_EQ(complaint([](json& g) { g["ops"][0]["source"] = 41; }), "g: ops[0]: source is not a string");
    EXPECT_EQ(complaint([](json& g) {
                  g["module_classes"] = {{"a", 1}};
              }),
              "g: module_classes: 'a' is not a string");
}

TEST(GraphFile, only_ops_of_the_optimizer_have_times_on_the_host) {
    const auto read_with = [](const char* phase, const json& time) {
        json graph = json::parse(graph_text(small_graph()));
        graph["ops"][4]["phase"] = phase;
        graph["ops"][4]["host_time_ns"] = time;
        return parse_graph(graph.dump(), "g");
    };
    const Result<Graph> read = read_with("optimizer", 30);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->ops[OpId(4)].host_time, Nanoseconds(30));
    EXPECT_FALSE(read->ops[OpId(3)].host_time);
    EXPECT_EQ(parse_graph(graph_text(*read), "g")->ops[OpId(4)].host_time, Nanoseconds(30));
    EXPECT_NE(read_with("backward", 30).error().message.find("not of phase optimizer"), std::string::npos);
    EXPECT_NE(read_with("optimizer", -1).error().message.find("negative time on the host"),
              std::string::npos);
    EXPECT_NE(read_with("optimizer", 0x1p52).error().message.find("too large"), std::string::npos);
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

TEST(GraphFile, a_message_that_quotes_line_breaks_is_one_line) {
    json graph = json::parse(graph_text(small_graph()));
    graph["tensors"][1]["kind"] = "acti\nvation";
    EXPECT_EQ(parse_graph(graph.dump(), "g").error().message,
              "g: tensors[1]: kind 'acti vation' is not known");
    graph = json::parse(graph_text(small_graph()));
    graph["tensors"][1]["name"] = "a\nb";
    graph["tensors"][1]["bytes"] = -1;
    EXPECT_EQ(parse_graph(graph.dump(), "g").error().message, "g: tensor 1 (a b) has negative bytes");
}

struct Hostile {
    const char* what;
    std::function<void(json&)> damage;
    const char* named;  ///< a part of the error message
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
    {"no_room_for_reruns", [](json& g) { g["ops"][1]["time_ns"] = std::int64_t{1} << 53; }, "too large"},
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
    {"repeat_class_below_none",
     [](json& g) {
         g["blocks"] = {{{"name", "b"}, {"repeat_class", -2}, {"ops", {0, 1, 2, 3, 4}}}};
     },
     "repeat_class"},
    {"repeat_class_too_large",
     [](json& g) {
         g["blocks"] = {{{"name", "b"}, {"repeat_class", (1 << 28) + 1}, {"ops", {0, 1, 2, 3, 4}}}};
     },
     "repeat_class"},
    {"id_not_in_order",
     [](json& g) {
         g["ops"][0]["id"] = 1;
         g["ops"][1]["id"] = 0;
     },
     "place in the order"},
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

/// A reader whose time grows with the square of the number of tensors would need minutes for this graph.
TEST(GraphFile, graphs_of_two_hundred_thousand_ops_are_read) {
    Graph graph;
    graph.name = "long";
    graph.tensors.push_back({"x", Bytes(8), TensorKind::input});
    for (std::int32_t i = 0; i < 200'000; ++i) {
        graph.tensors.push_back({"a" + std::to_string(i), Bytes(8)});
        Op op;
        op.name = "f";
        op.time = Nanoseconds(1);
        op.inputs = {TensorId(i)};
        op.outputs = {TensorId(i + 1)};
        graph.ops.push_back(op);
    }
    graph.results = {TensorId(200'000)};
    const Result<Graph> read = parse_graph(graph_text(graph), "long");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->ops.size(), 200'000u);
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
    EXPECT_EQ(bound.bytes, Bytes(10 + 400));  // backward_b holds `a`, `b`, the gradient of `b` and its output
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
