// The checker and the simulator share no code. They must agree on thousands of random schedules.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/addresses/address_plan.h"
#include "core/addresses/caching_allocator.h"
#include "core/checking/check.h"
#include "core/checking/check_addresses.h"
#include "core/schedule/held.h"
#include "core/schedule/simulate.h"
#include "tests/core/support/random_copies.h"
#include "tests/core/support/random_queues.h"

namespace rematlas {
namespace {

constexpr std::uint64_t kGraphs = 4000, kSchedulesEach = 5;

bool at_the_end(const std::string& violation) {
    return violation.starts_with("at the end:");
}
bool of_residents(const std::string& violation) {
    return violation.find("resident") != std::string::npos || violation.find("home") != std::string::npos ||
           violation.find("next step") != std::string::npos;
}

/// Says whether the simulator must find this violation, too. The simulator checks the end of a schedule only
/// if the schedule is cyclic, and then checks only the residents.
bool seen_by_the_simulator(const std::string& violation, bool cyclic) {
    return !at_the_end(violation) || (cyclic && of_residents(violation));
}

struct Counts {
    int accepted = 0, refused = 0, cyclic = 0, shorter = 0, with_host_runs = 0, beside_compute = 0;
};

void expect_alike(const Graph& graph, const Schedule& schedule, const std::string& which, Counts& counts) {
    const CheckReport report = check(graph, schedule);
    const Result<Simulation> played = simulate(graph, schedule);
    const bool possible =
        std::none_of(report.violations.begin(), report.violations.end(),
                     [&](const auto& v) { return seen_by_the_simulator(v, schedule.homes.cyclic); });
    ASSERT_EQ(bool(played), possible)
        << which << (played ? report.violations.front() : played.error().message);
    ++(report.ok() ? counts.accepted : counts.refused);
    if (!played || !report.ok()) return;
    ASSERT_EQ(played->time, report.time) << which;
    ASSERT_EQ(played->peak, report.peak) << which;
    ASSERT_EQ(played->peak_step, report.peak_step) << which;
    ASSERT_EQ(played->host_peak, report.host_peak) << which;
    ASSERT_EQ(held_during(graph, schedule.steps, report.peak_step, schedule.homes).total(),
              played->steps[report.peak_step].during)
        << which;
    Nanoseconds busy, in_queues, of_queues;
    for (const SideTrace& one : played->beside) {
        ASSERT_LE(one.start, one.end) << which;
        if (one.queue == SideQueue::host) busy += one.end - one.start;
        if (one.queue == SideQueue::collective) in_queues += one.end - one.start;
    }
    for (const auto& [queue, use] : report.collectives) of_queues += use.busy;
    ASSERT_EQ(busy, report.on_host.busy) << which;
    ASSERT_EQ(in_queues, of_queues) << which;
    Nanoseconds one_after_the_other;
    for (const Step& step : schedule.steps)
        if (step.runs()) one_after_the_other += graph.ops[step.op()].time;
    counts.beside_compute += report.time < one_after_the_other;
    counts.with_host_runs += report.host_runs > 0;
    if (!schedule.homes.cyclic) return;
    ++counts.cyclic;
    Schedule alone = schedule;
    alone.homes.cyclic = false;
    const CheckReport once = check(graph, alone);
    ASSERT_TRUE(once.ok()) << which << once.violations.front();
    ASSERT_EQ(once.peak, report.peak) << which;
    counts.shorter += report.time < once.time;
}

/// Compares the players on random schedules of the graphs that `graph_of` makes from seeds.
template <class GraphOf>
void compare_players(GraphOf graph_of, Counts& counts) {
    for (std::uint64_t seed = 0; seed < kGraphs; ++seed) {
        const Graph graph = graph_of(seed);
        ASSERT_TRUE(validate(graph)) << validate(graph).error().message;
        for (std::uint64_t i = 0; i < kSchedulesEach; ++i) {
            const Schedule schedule = random_schedule_with_copies(graph, seed * 100 + i);
            expect_alike(graph, schedule,
                         "graph " + std::to_string(seed) + " schedule " + std::to_string(i) + ": ", counts);
            if (testing::Test::HasFatalFailure()) return;
        }
    }
    EXPECT_GT(counts.accepted, 5000);
    EXPECT_GT(counts.refused, 1000);
    EXPECT_GT(counts.cyclic, 1000);
}

/// The live peak of planned addresses must be the simulator's peak, and the checker must accept the
/// addresses. The model of torch's allocator must allocate at least this peak.
TEST(Players, agree_with_planned_addresses_and_the_allocator) {
    int with_homes = 0;
    for (std::uint64_t seed = 0; seed < 600; ++seed) {
        const Graph graph = random_graph_with_links(seed);
        Schedule schedule = random_schedule_with_copies(graph, seed);
        const Result<Simulation> played = simulate(graph, schedule);
        if (!played) continue;
        with_homes += schedule.homes.on_host.size() > schedule.homes.stays.size();
        const Result<AddressPlan> plan =
            plan_addresses(graph, schedule.steps, {.alignment = 1, .homes = schedule.homes});
        ASSERT_TRUE(plan) << plan.error().message;
        ASSERT_EQ(plan->live_peak, played->peak) << seed;
        schedule.addresses = addresses_from(*plan, 1);
        const Result<void> sound =
            check_addresses(graph, schedule.steps, *schedule.addresses, true, schedule.homes);
        ASSERT_TRUE(sound) << seed << ": " << sound.error().message;
        const Result<CachingAllocatorPeaks> peaks =
            caching_allocator_peaks(graph, schedule.steps, {}, schedule.homes);
        ASSERT_TRUE(peaks) << peaks.error().message;
        ASSERT_GE(peaks->allocated, played->peak) << seed;
    }
    EXPECT_GT(with_homes, 200);
}

TEST(Players, agree_on_random_schedules_with_copies) {
    Counts counts;
    compare_players(random_graph_with_links, counts);
    EXPECT_GT(counts.shorter, 100);
    EXPECT_GT(counts.with_host_runs, 1000);
}

TEST(Players, agree_on_random_schedules_with_collectives) {
    Counts counts;
    compare_players(
        [](std::uint64_t seed) { return with_random_queues(random_graph_with_links(seed), seed); }, counts);
    EXPECT_GT(counts.beside_compute, 250);
}

}  // namespace
}  // namespace rematlas
