#include "core/schedule/side_queues.h"

#include <gtest/gtest.h>

#include <random>

#include "core/checking/host_traffic.h"
#include "tests/core/support/tick_queues.h"

namespace rematlas {
namespace {

constexpr std::array kWayOf{Way::out, Way::in, Way::host};

TEST(SideQueues, a_copy_slows_down_while_bytes_move_the_other_way) {
    SideQueues queues;
    const int out = queues.add({.queue = SideQueue::to_host, .alone = 100, .contended = 250});
    queues.move_to(40);
    const int back = queues.add({.queue = SideQueue::to_device, .alone = 100, .contended = 200});
    queues.wait_for(out);
    EXPECT_EQ(queues.now(), 190);  // the remaining 60 % take 60 % of 250 ns
    queues.wait_for(back);
    EXPECT_EQ(queues.now(), 215);  // three quarters of the copy took the 150 ns in which `out` also ran; the
                                   // last quarter takes 25 ns
}

TEST(SideQueues, no_bytes_move_in_the_latency) {
    SideQueues queues;
    const int out = queues.add({.queue = SideQueue::to_host, .alone = 10, .contended = 20, .latency = 5});
    const int back = queues.add({.queue = SideQueue::to_device, .alone = 10, .contended = 20, .latency = 15});
    queues.wait_for(out);
    EXPECT_EQ(queues.now(), 15);
    queues.wait_for(back);
    EXPECT_EQ(queues.now(), 25);
}

TEST(SideQueues, a_copy_begins_when_what_it_follows_is_done) {
    SideQueues queues;
    const int op = queues.add({.queue = SideQueue::host, .alone = 30});
    const int back =
        queues.add({.queue = SideQueue::to_device, .alone = 10, .contended = 10, .after = {op, -1}});
    const int next = queues.add({.queue = SideQueue::to_device, .alone = 10, .contended = 10});
    queues.wait_for(next);
    EXPECT_EQ(queues.begin(back), 30);
    EXPECT_EQ(queues.end(next), 50);
}

/// The simulator's queues, the checker's queues and queues that count single nanoseconds must end every copy
/// at the same time.
TEST(SideQueues, agree_with_the_checkers_and_with_counting_nanoseconds) {
    std::int64_t contended_ends = 0;
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
        std::mt19937_64 random(seed);
        const auto draw = [&](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
        SideQueues queues;
        HostTraffic traffic;
        TickQueues ticks;
        const int count = 1 + draw(11);
        for (int i = 0; i < count; ++i) {
            TickWork work{.queue = draw(4) % 3};
            work.alone = draw(3) == 0 ? draw(2) : draw(40);
            work.contended = work.queue == 2 ? work.alone : work.alone + draw(30);
            work.latency = work.queue == 2 || draw(1) == 0 ? 0 : draw(6);
            if (i > 0 && draw(2) == 0) work.after.push_back(draw(i - 1));
            std::set<HostTraffic::TaskId> first(work.after.begin(), work.after.end());
            const Way way = kWayOf[static_cast<std::size_t>(work.queue)];
            queues.add({static_cast<SideQueue>(work.queue), work.alone, work.contended, work.latency,
                        work.after, i});
            if (way == Way::host)
                traffic.run_on_host(i, work.alone, first);
            else
                traffic.copy(way, i, work.alone, work.contended, work.latency, first);
            ticks.add(work);
            if (draw(3) == 0) {
                const int awaited = draw(i);
                queues.wait_for(awaited);
                traffic.await(static_cast<std::size_t>(awaited));
                ticks.wait_for(awaited);
            }
            const int time = draw(25);
            queues.move_to(queues.now() + time);
            traffic.compute(time);
            ticks.move_to(ticks.now + time);
            ASSERT_EQ(queues.now(), ticks.now) << seed;
            ASSERT_EQ(traffic.clock(), ticks.now) << seed;
            ASSERT_EQ(queues.pending().size(), traffic.under_way().size()) << seed;
        }
        for (int i = 0; i < count; ++i) {
            queues.wait_for(i);
            ticks.wait_for(i);
            traffic.await(static_cast<std::size_t>(i));
            const TickWork& work = ticks.works[static_cast<std::size_t>(i)];
            ASSERT_EQ(queues.end(i), work.end) << seed << " work " << i;
            ASSERT_EQ(traffic.clock(), ticks.now) << seed << " work " << i;
            contended_ends += work.ticks_alone > 0 && work.ticks_contended > 0;
        }
    }
    EXPECT_GT(contended_ends, 2000);
}

}  // namespace
}  // namespace rematlas
