// Compares the addresses of packed blocks with recorded addresses: see recorded.h.
#include <gtest/gtest.h>

#include <random>

#include "core/addresses/address_plan.h"
#include "core/addresses/caching_allocator.h"
#include "core/addresses/ejection_search.h"
#include "core/addresses/order_search.h"
#include "core/addresses/request_plan.h"
#include "tests/core/support/graphs_of_each_kind.h"
#include "tests/core/support/random_blocks.h"
#include "tests/core/support/recorded.h"

namespace rematlas {
namespace {

TEST(RecordedPackings, OfRandomBlocks) {
    Recorded recorded(__FILE__, "recorded_packings");
    std::mt19937 random(3);
    for (int i = 0; i < 12; ++i) {
        const MemoryBlocks blocks = random_blocks(random, 20 + 10 * i, 40, 30, 1 + i % 3);
        const std::string name = std::to_string(blocks.size()) + " blocks, ";
        std::int64_t spent = 0;
        Packing packing = pack_by_orders(blocks, live_peak(blocks), {.effort = 200'000}, spent);
        recorded.expect(name + "by orders", packing.top, "of", live_peak(blocks), "spent", spent,
                        digest(packing.offsets));
        packing = stacked(blocks);
        lower_by_ejection(blocks, live_peak(blocks), {.effort = 200'000, .patience = 100'000}, packing,
                          spent);
        recorded.expect(name + "by ejection", packing.top, "spent", spent, digest(packing.offsets));
        packing = pack(blocks, 1'000'000);
        recorded.expect(name + "by both", packing.top, digest(packing.offsets));
    }
}

TEST(RecordedPackings, OfRequests) {
    Recorded recorded(__FILE__, "recorded_requests");
    std::mt19937 random(5);
    for (int count : {10, 40, 100}) {
        std::vector<Request> requests;
        std::vector<std::size_t> held;
        std::int32_t moment = 0;
        while (static_cast<int>(requests.size()) < count) {
            if (!held.empty() && random() % 3 == 0) {
                const std::size_t one = random() % held.size();
                requests[held[one]].returned = moment++;
                held.erase(held.begin() + static_cast<std::ptrdiff_t>(one));
            } else {
                held.push_back(requests.size());
                requests.push_back({1 + static_cast<std::int64_t>(random() % 5000), moment++, -1});
            }
        }
        const RequestPlan plan = plan_requests(requests, {.alignment = 64, .effort = 2'000'000});
        recorded.expect(std::to_string(count) + " requests", plan.arena, "of", plan.live_peak,
                        digest(plan.offsets), digest(plan.before.begin), digest(plan.before.items));
    }
}

TEST(RecordedPackings, OfSchedules) {
    Recorded recorded(__FILE__, "recorded_addresses");
    for (const GraphOfAKind& of : graphs_of_each_kind()) {
        const std::vector<Step> steps = lower(of.flat, required_once(of.flat));
        for (const bool residents : {true, false}) {
            const Result<AddressPlan> plan =
                plan_addresses(of.graph, steps, {.residents = residents, .effort = 2'000'000});
            ASSERT_TRUE(plan) << plan.error().message;
            std::vector<std::int64_t> numbers;
            for (const Placement& p : plan->placements)
                for (const std::int64_t number :
                     {std::int64_t(p.id), std::int64_t(p.first), std::int64_t(p.end), p.offset.value})
                    numbers.push_back(number);
            recorded.expect(of.name + (residents ? " with residents" : " without residents"),
                            plan->arena.value, "of", plan->aligned_live_peak.value, digest(numbers));
        }
        for (const bool expandable : {true, false}) {
            const auto peaks = caching_allocator_peaks(of.graph, steps, {.expandable_segments = expandable});
            ASSERT_TRUE(peaks) << peaks.error().message;
            recorded.expect(of.name + (expandable ? " in segments that grow" : " in segments"),
                            peaks->allocated.value, "of", peaks->reserved.value);
        }
    }
}

}  // namespace
}  // namespace rematlas
