#include "core/addresses/request_plan.h"

#include <gtest/gtest.h>

#include <set>

namespace rematlas {
namespace {

/// Makes blocks that are requested and returned at random moments. Some of them are never returned.
std::vector<Request> random_requests(std::uint64_t seed, int count) {
    std::uint64_t state = seed * 2 + 1;
    const auto next = [&state](std::uint64_t n) {
        return state = state * 6364136223846793005ull + 1442695040888963407ull, (state >> 33) % n;
    };
    std::vector<Request> requests;
    std::vector<std::size_t> held;
    for (std::int32_t moment = 0; static_cast<int>(requests.size()) < count; ++moment) {
        if (!held.empty() && next(5) < 2) {
            const std::size_t which = next(held.size());
            requests[held[which]].returned = moment;
            held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
        } else {
            held.push_back(requests.size());
            requests.push_back({.bytes = static_cast<std::int64_t>(1 + next(next(4) ? 300 : 5000)),
                                .taken = moment,
                                .returned = -1});
        }
    }
    return requests;
}

bool overlap(const std::vector<Request>& requests, const RequestPlan& plan, std::size_t a, std::size_t b) {
    return plan.offsets[a] < plan.offsets[b] + requests[b].bytes &&
           plan.offsets[b] < plan.offsets[a] + requests[a].bytes;
}

TEST(RequestPlan, no_two_requests_that_are_held_together_share_a_byte) {
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        const std::vector<Request> requests = random_requests(seed, 60);
        for (const std::int64_t alignment : {1, 64, 512}) {
            const RequestPlan plan = plan_requests(requests, {.alignment = alignment, .effort = 20'000});
            const Result<void> sound = check_requests(requests, plan, alignment);
            EXPECT_TRUE(sound) << seed << ": " << sound.error().message;
            EXPECT_GE(plan.arena, plan.live_peak) << seed;
        }
    }
}

TEST(RequestPlan, whoever_may_still_lie_in_the_place_of_a_request_is_named_before_it) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        const std::vector<Request> requests = random_requests(seed, 60);
        const RequestPlan plan = plan_requests(requests, {.effort = 20'000});
        for (std::size_t late = 0; late < requests.size(); ++late) {
            // `before` names requests, whose `before` names further requests, and so on. These must include
            // all earlier requests that had some of the same bytes.
            std::set<std::int32_t> reached, open(plan.before[late].begin(), plan.before[late].end());
            while (!open.empty()) {
                const std::int32_t at = *open.begin();
                open.erase(open.begin());
                EXPECT_GE(requests[at].returned, 0) << "named, yet held to the end";
                if (!reached.insert(at).second) continue;
                open.insert(plan.before[at].begin(), plan.before[at].end());
            }
            for (std::size_t early = 0; early < late; ++early) {
                if (overlap(requests, plan, early, late)) {
                    EXPECT_TRUE(reached.contains(static_cast<std::int32_t>(early))) << seed;
                }
            }
        }
    }
}

TEST(RequestPlan, the_checker_names_what_is_wrong) {
    const std::vector<Request> requests{{.bytes = 100, .taken = 0, .returned = 3},
                                        {.bytes = 100, .taken = 1, .returned = -1},
                                        {.bytes = 10, .taken = 2, .returned = 4}};
    const RequestPlan good = plan_requests(requests);
    ASSERT_TRUE(check_requests(requests, good, 64));
    RequestPlan bad = good;
    bad.offsets[2] = bad.offsets[1];
    EXPECT_NE(check_requests(requests, bad, 64).error().message.find("overlaps"), std::string::npos);
    bad = good;
    bad.offsets[2] += 1;
    EXPECT_NE(check_requests(requests, bad, 64).error().message.find("aligned"), std::string::npos);
    bad = good;
    bad.arena = 64;
    EXPECT_NE(check_requests(requests, bad, 64).error().message.find("arena"), std::string::npos);
    bad = good;
    bad.offsets.pop_back();
    EXPECT_FALSE(check_requests(requests, bad, 64));
}

TEST(RequestPlan, nothing_asked_for_needs_nothing) {
    const RequestPlan plan = plan_requests({});
    EXPECT_EQ(plan.arena, 0);
    EXPECT_TRUE(check_requests({}, plan, 64));
}

}  // namespace
}  // namespace rematlas
