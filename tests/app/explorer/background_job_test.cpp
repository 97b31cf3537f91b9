#include "app/explorer/jobs/background_job.h"

#include <gtest/gtest.h>

#include <QSignalSpy>
#include <QThread>

#include "tests/app/explorer/training_chain.h"

namespace rematlas::explorer {
namespace {

void wait_for_stop(std::stop_token stop) {
    while (!stop.stop_requested()) QThread::msleep(1);
}

TEST(BackgroundJob, DeliversOnTheOwnersThread) {
    BackgroundJob job;
    QThread* worked_on = nullptr;
    QThread* delivered_on = nullptr;
    job.start([&](std::stop_token) {
        worked_on = QThread::currentThread();
        return [&] { delivered_on = QThread::currentThread(); };
    });
    EXPECT_TRUE(job.running());
    ASSERT_TRUE(eventually([&] { return !job.running(); }));
    EXPECT_EQ(delivered_on, QThread::currentThread());
    EXPECT_NE(worked_on, delivered_on);
}

TEST(BackgroundJob, CancelDropsTheResultAndEndsAtOnce) {
    BackgroundJob job;
    QSignalSpy finished(&job, &BackgroundJob::finished);
    bool delivered = false;
    std::atomic<bool> ended = false;
    job.start([&](std::stop_token stop) {
        wait_for_stop(stop);
        ended = true;
        return [&] { delivered = true; };
    });
    job.cancel();
    EXPECT_FALSE(job.running());
    ASSERT_EQ(finished.count(), 1);
    EXPECT_TRUE(finished.front().front().toBool());
    ASSERT_TRUE(eventually([&] { return ended.load(); }));
    for (int i = 0; i < 5; ++i) process_events();
    EXPECT_FALSE(delivered);
    EXPECT_EQ(finished.count(), 1);
}

TEST(BackgroundJob, StoppingEarlyStillDelivers) {
    BackgroundJob job;
    bool delivered = false;
    job.start([&](std::stop_token stop) {
        wait_for_stop(stop);
        return [&] { delivered = true; };
    });
    job.stop_early();
    EXPECT_TRUE(eventually([&] { return delivered; }));
}

TEST(BackgroundJob, StartingAgainReplacesWhatRuns) {
    BackgroundJob job;
    std::vector<int> delivered;
    for (int i = 0; i < 10; ++i) {
        job.start([&delivered, i](std::stop_token stop) {
            if (i < 9) wait_for_stop(stop);
            return [&delivered, i] { delivered.push_back(i); };
        });
    }
    ASSERT_TRUE(eventually([&] { return !job.running(); }));
    EXPECT_EQ(delivered, std::vector<int>{9});
}

TEST(BackgroundJob, DropsWhatACancelledWorkPosted) {
    BackgroundJob job;
    int posted = 0;
    std::atomic<bool> ready = false;
    job.start([&](std::stop_token stop) {
        job.post(stop, [&] { ++posted; });
        ready = true;
        wait_for_stop(stop);
        return [] {};
    });
    while (!ready) QThread::msleep(1);
    job.cancel();
    for (int i = 0; i < 5; ++i) process_events();
    EXPECT_EQ(posted, 0);
}

TEST(BackgroundJob, DestroyingItWaitsForTheThread) {
    std::atomic<bool> ended = false;
    bool delivered = false;
    {
        BackgroundJob job;
        job.start([&](std::stop_token stop) {
            wait_for_stop(stop);
            ended = true;
            return [&] { delivered = true; };
        });
    }
    EXPECT_TRUE(ended);
    process_events();
    EXPECT_FALSE(delivered);
}

}  // namespace
}  // namespace rematlas::explorer
