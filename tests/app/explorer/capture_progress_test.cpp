#include "app/explorer/words/capture_progress.h"

#include <gtest/gtest.h>

namespace rematlas::explorer {
namespace {

TEST(CaptureProgress, OnlyGrowsThroughAllStages) {
    CaptureProgress progress;
    double before = 0;
    // If a step has to be recorded twice, "record" is reported twice.
    for (const char* stage : {"load", "record", "check", "record", "check", "profile", "write"}) {
        for (const double within : {0.0, 0.5, 1.0, 0.2}) {
            const double now = progress.at(stage, within, 1000).fraction;
            EXPECT_GE(now, before) << stage << " at " << within;
            EXPECT_LE(now, 1);
            before = now;
        }
    }
    EXPECT_EQ(before, 1);
}

TEST(CaptureProgress, SaysInWordsWhatIsDone) {
    CaptureProgress progress;
    EXPECT_EQ(progress.at("load", 0, 0).words, "Loading the model");
    EXPECT_TRUE(progress.at("profile", 0, 0).words.contains("time of each operation"));
    EXPECT_EQ(progress.at("polish", 0.5, 0).words, "polish") << "a stage that is not known here";
}

TEST(CaptureProgress, TellsTheTimeLeftOnceItCanBeGuessed) {
    CaptureProgress progress;
    EXPECT_FALSE(progress.at("record", 0.1, 60000).words.contains("left")) << "too early";
    EXPECT_FALSE(progress.at("check", 0.5, 500).words.contains("left")) << "over in a moment";
    // At this report, 71.5 % of the capture is done, after 30 s. So 12 s are left, which is rounded up to a
    // multiple of 5 s.
    EXPECT_TRUE(progress.at("profile", 0.5, 30000).words.endsWith("about 15 s left"));
    EXPECT_TRUE(progress.at("profile", 0.5, 600000).words.endsWith("about 4 min left"));
    EXPECT_FALSE(progress.at("write", 1, 900000).words.contains("left")) << "nothing is left";
}

TEST(CaptureProgress, TellsTheTimeTakenWhereNoFractionIsKnown) {
    CaptureProgress progress;
    EXPECT_EQ(progress.now(0).words, "Capturing the model");
    EXPECT_EQ(progress.now(3400).words, "Capturing the model, 3 s");
    EXPECT_LT(progress.at("load", -1, 4000).fraction, 0);
    EXPECT_EQ(progress.at("record", -1, 75000).words,
              "Running one training step and noting what it does, 1 min 15 s");
    EXPECT_GE(progress.at("record", 0.5, 76000).fraction, 0) << "known from here on";
}

}  // namespace
}  // namespace rematlas::explorer
