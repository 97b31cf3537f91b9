#include "viz/layout/layout_programs.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cerrno>
#include <thread>

#include "core/base/files.h"
#include "tests/viz/layout_stand_ins.h"

namespace rematlas {
namespace {

using namespace std::chrono_literals;

/// Waits until the condition is true. Returns false if it is still false after ten seconds.
template <class Condition>
bool in_time(Condition condition) {
    for (int i = 0; i < 2000; ++i) {
        if (condition()) return true;
        std::this_thread::sleep_for(5ms);
    }
    return false;
}

Result<std::vector<Layout>> lay_out_with(std::shared_ptr<LayoutPrograms> programs) {
    const LayoutRequest request = ladder(4);
    LayoutWorker worker({.programs = std::move(programs)});
    return worker.lay_out({&request, 1});
}

TEST(LayoutProgramsTest, OneAnswersAsAFreshOneDoesAndWaitsAgain) {
    if (find_layout_worker().empty()) GTEST_SKIP() << "no rematlas-layout in this build";
    auto programs = std::make_shared<LayoutPrograms>(1);
    ASSERT_TRUE(in_time([&] { return programs->waiting() == 1; }));
    const auto fresh = lay_out_with(nullptr);
    ASSERT_TRUE(fresh) << fresh.error().message;
    for (int i = 0; i < 3; ++i) {
        const auto layout = lay_out_with(programs);
        ASSERT_TRUE(layout) << layout.error().message;
        EXPECT_EQ(*layout, *fresh);
        EXPECT_EQ(programs->waiting(), 1u);
    }
}

TEST(LayoutProgramsTest, WhoFindsNoneWaitingStartsOne) {
    if (find_layout_worker().empty()) GTEST_SKIP() << "no rematlas-layout in this build";
    auto programs = std::make_shared<LayoutPrograms>(1);
    ASSERT_TRUE(in_time([&] { return programs->waiting() == 1; }));
    auto taken = programs->take();
    ASSERT_TRUE(taken);
    EXPECT_FALSE(programs->take());
    EXPECT_TRUE(lay_out_with(programs));
    EXPECT_EQ(programs->waiting(), 0u) << "only what was taken is given back";
    programs->give_back(std::move(taken));
    EXPECT_EQ(programs->waiting(), 1u);
}

TEST(LayoutProgramsTest, OneThatFailsIsReplaced) {
    Script hangs("echo $$ >> \"$0.pids\"; exec sleep 1000");
    const std::filesystem::path pids = hangs.path().string() + ".pids";
    const auto started = [&] {
        const auto text = read_file(pids);
        return text ? std::count(text->begin(), text->end(), '\n') : 0;
    };
    auto programs = std::make_shared<LayoutPrograms>(1, LayoutLimits{.worker = hangs.path()});
    ASSERT_TRUE(in_time([&] { return started() == 1 && programs->waiting() == 1; }));
    const LayoutRequest request = ladder(2);
    {
        LayoutWorker worker({.time = 50ms, .programs = programs});
        EXPECT_FALSE(worker.lay_out({&request, 1}));
    }
    EXPECT_TRUE(in_time([&] { return started() == 2 && programs->waiting() == 1; }));
    std::filesystem::remove(pids);
}

TEST(LayoutProgramsTest, OneThatEndedByItselfIsNotUsed) {
    Script leaves("exit 0");
    auto programs = std::make_shared<LayoutPrograms>(1, LayoutLimits{.worker = leaves.path()});
    ASSERT_TRUE(in_time([&] { return programs->waiting() == 1; }));
    EXPECT_TRUE(in_time([&] {
        auto taken = programs->take();
        if (!taken) return true;
        programs->give_back(std::move(taken));
        return false;
    }));
}

TEST(LayoutProgramsTest, AllEndWithTheObject) {
    Script waits("echo $$ > \"$0.pid\"; exec sleep 1000");
    const std::filesystem::path file = waits.path().string() + ".pid";
    pid_t pid = 0;
    {
        LayoutPrograms programs(1, {.worker = waits.path()});
        ASSERT_TRUE(in_time([&] {
            const auto text = read_file(file);
            if (text && text->ends_with('\n')) pid = std::stoi(*text);
            return pid > 0;
        }));
        EXPECT_EQ(kill(pid, 0), 0);
    }
    EXPECT_EQ(kill(pid, 0), -1);
    EXPECT_EQ(errno, ESRCH);
    std::filesystem::remove(file);
}

}  // namespace
}  // namespace rematlas
