#include "viz/layout/layout.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace rematlas {
namespace {

using Json = nlohmann::json;

LayoutRequest sample_request() {
    LayoutRequest request;
    request.items = {{{80, 30}, 1}, {{90.5, 30}, 1, LayoutRow::last}, {{70, 20}, -1}};
    request.edges = {{0, 1, EdgeRole::down, 4},
                     {1, 2, EdgeRole::rung, 1},
                     {0, 2, EdgeRole::free, 1},
                     {2, 2, EdgeRole::up, 2}};
    request.clusters = {{-1, {40, 12}}, {0, {}}, {-1, {}, 0}};
    request.pairs = {{1, 2}};
    request.rank_gap = 31;
    return request;
}

Layout sample_layout() {
    Layout layout;
    layout.size = {300, 200};
    layout.items = {{1, 2, 80, 30}, {1, 60, 90.5, 30}};
    layout.edges = {{{40, 32}, {40, 40}, {40, 50}, {40, 60}}, {}};
    layout.clusters = {{0, 0, 120, 100}};
    return layout;
}

TEST(Layout, RequestsSurviveJson) {
    auto again = layout_request_from(Json::parse(to_json(sample_request()).dump()));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, sample_request());
}

TEST(Layout, LayoutsSurviveJson) {
    auto again = layout_from(Json::parse(to_json(sample_layout()).dump()));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, sample_layout());
}

struct Damage {
    const char* what;
    const char* pointer;
    Json value;
    const char* named;  ///< text that the message must contain
};

class DamagedRequest : public testing::TestWithParam<Damage> {};

TEST_P(DamagedRequest, IsRefusedByNameOfTheField) {
    Json json = to_json(sample_request());
    json[Json::json_pointer(GetParam().pointer)] = GetParam().value;
    auto read = layout_request_from(json);
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().message.find(GetParam().named), std::string::npos) << read.error().message;
    EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Layout, DamagedRequest,
    testing::Values(
        Damage{"format", "/format", "other", "format"}, Damage{"version", "/version", 2, "version"},
        Damage{"items", "/items", 3, "items"}, Damage{"size", "/items/1", Json{-1, 20, -1, 0}, "items[1]"},
        Damage{"empty", "/items/0", Json{0, 20, -1, 0}, "items[0]"},
        Damage{"no_cluster", "/items/2/2", 3, "items[2]"}, Damage{"huge", "/items/0/0", 1e300, "items[0]"},
        Damage{"no_item", "/edges/0/1", 3, "edges[0]"}, Damage{"negative", "/edges/1/0", -1, "edges[1]"},
        Damage{"role", "/edges/0/2", "sideways", "edges[0]"},
        Damage{"cycle", "/clusters/0/0", 1, "clusters[0]"}, Damage{"row", "/items/1/3", 3, "items[1]"},
        Damage{"twin", "/clusters/2/3", 3, "clusters[2]"}, Damage{"pair", "/pairs/0", Json{0, 9}, "pairs[0]"},
        Damage{"gap", "/rank_gap", "wide", "rank_gap"}),
    [](const auto& info) { return std::string(info.param.what); });

TEST(Layout, SplinesMustBeCubic) {
    Json json = to_json(sample_layout());
    json["edges"][0] = {1, 2, 3, 4, 5, 6};
    auto read = layout_from(json);
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().message.find("edges[0]"), std::string::npos);
}

}  // namespace
}  // namespace rematlas
