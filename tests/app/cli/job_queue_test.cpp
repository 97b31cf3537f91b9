#include "app/cli/serve/job_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace rematlas {
namespace {

/// Work that runs until it is asked to stop.
struct Endless {
    std::promise<void> began, ended;

    JobQueue::Work work() {
        return [this](std::stop_token stop) {
            std::promise<void> asked;
            const std::stop_callback on_stop(stop, [&] { asked.set_value(); });
            began.set_value();
            asked.get_future().wait();
            ended.set_value();
        };
    }
};

TEST(JobQueue, runs_in_order_what_it_cannot_run_at_once) {
    std::vector<int> order;
    std::promise<void> done;
    JobQueue queue(1);
    for (int i = 0; i < 5; ++i)
        queue.add(i, [&, i](std::stop_token) {
            order.push_back(i);
            if (i == 4) done.set_value();
        });
    done.get_future().wait();
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(JobQueue, never_runs_more_at_once_than_it_may) {
    std::atomic<int> now = 0, most = 0, left = 40;
    std::promise<void> done;
    JobQueue queue(3);
    for (int i = 0; i < 40; ++i)
        queue.add(i, [&](std::stop_token) {
            const int running = ++now;
            for (int seen = most; running > seen && !most.compare_exchange_weak(seen, running);) {
            }
            std::this_thread::yield();
            --now;
            if (--left == 0) done.set_value();
        });
    done.get_future().wait();
    EXPECT_LE(most, 3);
}

TEST(JobQueue, runs_as_many_at_once_as_it_may) {
    Endless first, second;
    JobQueue queue(2);
    queue.add(1, first.work());
    queue.add(2, second.work());
    first.began.get_future().wait();
    second.began.get_future().wait();
}

TEST(JobQueue, what_waits_can_be_taken_back_and_what_runs_can_be_stopped) {
    Endless running;
    bool began = false;
    JobQueue queue(1);
    queue.add(1, running.work());
    running.began.get_future().wait();
    queue.add(2, [&](std::stop_token) { began = true; });
    EXPECT_EQ(queue.count_waiting(), 1u);
    EXPECT_EQ(queue.cancel(2), JobQueue::Found::waiting);
    EXPECT_EQ(queue.count_waiting(), 0u);
    EXPECT_EQ(queue.cancel(2), JobQueue::Found::nowhere);
    EXPECT_EQ(queue.cancel(7), JobQueue::Found::nowhere);
    EXPECT_EQ(queue.cancel(1), JobQueue::Found::running);
    running.ended.get_future().wait();
    std::promise<void> after;
    queue.add(3, [&](std::stop_token stop) {
        EXPECT_FALSE(stop.stop_requested());
        after.set_value();
    });
    after.get_future().wait();
    EXPECT_FALSE(began);
}

TEST(JobQueue, its_end_stops_what_runs_and_forgets_what_waits) {
    Endless running;
    bool began = false;
    {
        JobQueue queue(1);
        queue.add(1, running.work());
        running.began.get_future().wait();
        queue.add(2, [&](std::stop_token) { began = true; });
    }
    running.ended.get_future().wait();
    EXPECT_FALSE(began);
}

}  // namespace
}  // namespace rematlas
