// Tests the times of collectives over the links between ranks.
#include "core/costs/rank_links.h"

#include <gmock/gmock.h>

#include "core/costs/builtin_profiles.h"

namespace rematlas {
namespace {

using testing::HasSubstr;

constexpr const char* kNode = R"({"format": "rematlas.rank_links", "version": 1, "name": "node", "ranks": 8,
  "bytes_per_second": 100e9, "start_ns": 1000, "hop_ns": 10})";

Nanoseconds time_in(const RankLinks& links, RankCollective kind, std::int64_t bytes, RankGroup group) {
    const Result<Nanoseconds> time = links.time_of(kind, Bytes(bytes), group);
    EXPECT_TRUE(time) << time.error().message;
    return time ? *time : Nanoseconds(-1);
}

TEST(RankLinks, time_is_start_and_hops_and_sent_bytes) {
    const RankLinks links{{*parse_rank_link(kNode, "node")}};
    const RankGroup all{"fsdp", 8, 8};
    // A gather or a scatter sends 7 of 8 parts over each link: 700,000 bytes in 7 hops, at 100 bytes a
    // nanosecond. A sum sends twice as much.

    EXPECT_EQ(time_in(links, RankCollective::gather, 800'000, all), Nanoseconds(1000 + 70 + 7000));
    EXPECT_EQ(time_in(links, RankCollective::scatter, 800'000, all), Nanoseconds(1000 + 70 + 7000));
    EXPECT_EQ(time_in(links, RankCollective::sum, 800'000, all), Nanoseconds(1000 + 140 + 14000));
    EXPECT_EQ(sent_bytes(RankCollective::sum, Bytes(800'000), all), Bytes(1'400'000));
}

TEST(RankLinks, a_ring_through_nodes_uses_the_adapters_of_a_node) {
    const Result<RankLinks> links = rank_links_named("ib400,nvlink4");
    ASSERT_TRUE(links) << links.error().message;
    EXPECT_EQ(links->node(), 8);
    const std::int64_t bytes = 1 << 30;
    const Nanoseconds within = time_in(*links, RankCollective::gather, bytes, {"fsdp", 8, 8}),
                      through = time_in(*links, RankCollective::gather, bytes, {"fsdp", 64, 8}),
                      alone = time_in(*links, RankCollective::gather, bytes, {"fsdp", 64, 1});
    EXPECT_LT(within, through);
    EXPECT_LT(through, alone);
    EXPECT_GT(alone.value, 7 * through.value);
}

TEST(RankLinks, refuses_groups_and_names_that_it_does_not_know) {
    const Result<RankLinks> within = rank_links_named("nvlink4");
    ASSERT_TRUE(within);
    const auto spans = within->time_of(RankCollective::gather, Bytes(1), {"fsdp", 16, 8});
    ASSERT_FALSE(spans);
    EXPECT_THAT(spans.error().message, HasSubstr("name the links between nodes too"));
    for (const char* wrong : {"", "nvlink9", "ib400,ib200", "nvlink4,nvlink3", "nvlink4,ib400,ib200"})
        EXPECT_FALSE(rank_links_named(wrong)) << wrong;
    EXPECT_THAT(rank_links_named("nvlink9").error().message, HasSubstr("known are"));
    for (const char* text : {"{}", "[]", R"({"format": "rematlas.rank_links", "version": 1, "name": "x"})"})
        EXPECT_FALSE(parse_rank_link(text, "x"));
}

TEST(RankLinks, every_link_that_comes_with_the_program_names_its_sources) {
    for (const std::string& name : names_of(builtin_rank_links())) {
        const Result<RankLinks> links = rank_links_named(name);
        ASSERT_TRUE(links) << links.error().message;
        EXPECT_TRUE(links->links.front().sources.contains("bytes_per_second")) << name;
    }
    EXPECT_GE(builtin_rank_links().size(), 6u);
}

TEST(RankLinks, kinds_follow_from_the_names_of_ops) {
    EXPECT_EQ(rank_collective_from("_c10d_functional::all_gather_into_tensor"), RankCollective::gather);
    EXPECT_EQ(rank_collective_from("_c10d_functional::reduce_scatter_tensor"), RankCollective::scatter);
    EXPECT_EQ(rank_collective_from("c10d::allreduce_"), RankCollective::sum);
    EXPECT_EQ(rank_collective_from("_c10d_functional::all_to_all_single"), RankCollective::other);
}

}  // namespace
}  // namespace rematlas
