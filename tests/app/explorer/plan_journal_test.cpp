#include "app/explorer/session/plan_journal.h"

#include <gtest/gtest.h>

#include <QFile>
#include <QProcess>
#include <QSignalSpy>
#include <random>

#include "app/explorer/session/open_file.h"
#include "core/base/files.h"
#include "core/schedule/run_sequence.h"
#include "tests/app/explorer/training_chain.h"

namespace rematlas::explorer {
namespace {

const std::string kGraph(64, 'a'), kOther(64, 'b');

Plan plan(int number) {
    const GraphPtr graph = loaded_chain(2);
    Schedule schedule = keep_all_schedule(*graph);
    schedule.graph_sha256 = kGraph;
    schedule.budget = Bytes(1000 + number);
    schedule.solve_seconds = 0.25;
    Plan plan{.key = key_of(schedule), .name = QString::number(number), .schedule = nullptr, .file = {}};
    plan.schedule = std::make_shared<const Schedule>(std::move(schedule));
    return plan;
}

class Journals : public testing::Test {
  protected:
    std::filesystem::path path() const { return folder.filePath("x.session.jsonl").toStdString(); }
    QTemporaryDir folder;
};

TEST_F(Journals, WhatWasAddedRenamedRemovedAndShownIsReadBack) {
    {
        PlanJournal journal;
        journal.open(path(), kGraph);
        Plan first = plan(1), second = plan(2);
        second.origin = Plan::Origin::swept;
        journal.note_added(first);
        journal.note_added(second);
        journal.note_added(plan(3));
        first.name = QString::fromUtf8("höchstens \"1 GiB\"");
        first.starred = true;
        journal.note_renamed(first);
        journal.note_removed(plan(3).key);
        journal.note_shown(second.key);
    }
    const KeptPlans kept = read_journal(path(), kGraph);
    ASSERT_EQ(kept.plans.size(), 2u);
    EXPECT_EQ(kept.damaged, 0);
    EXPECT_EQ(kept.plans[0].key, plan(1).key);
    EXPECT_EQ(kept.plans[0].name, QString::fromUtf8("höchstens \"1 GiB\""));
    EXPECT_TRUE(kept.plans[0].starred);
    EXPECT_EQ(kept.plans[1].origin, Plan::Origin::swept);
    EXPECT_EQ(kept.plans[1].schedule->steps, plan(2).schedule->steps);
    EXPECT_EQ(kept.plans[1].schedule->solve_seconds, 0.25);
    EXPECT_EQ(kept.shown, plan(2).key);
}

TEST_F(Journals, ALineThatWasCutOffIsNotThereAndWhatComesAfterItIs) {
    {
        PlanJournal journal;
        journal.open(path(), kGraph);
        journal.note_added(plan(1));
        journal.note_added(plan(2));
    }
    std::filesystem::resize_file(path(), std::filesystem::file_size(path()) - 20);
    EXPECT_EQ(read_journal(path(), kGraph).plans.size(), 1u);
    {
        PlanJournal journal;
        journal.open(path(), kGraph);
        journal.note_added(plan(3));
    }
    const KeptPlans kept = read_journal(path(), kGraph);
    ASSERT_EQ(kept.plans.size(), 2u);
    EXPECT_EQ(kept.damaged, 1);
    EXPECT_EQ(kept.plans[1].key, plan(3).key);
}

TEST_F(Journals, KeepsThePlansOfAnotherGraphOfTheSameName) {
    PlanJournal journal;
    journal.open(path(), kGraph);
    journal.note_added(plan(1));
    journal.open(path(), kOther);
    journal.note_added(plan(2));
    journal.flush();
    ASSERT_EQ(read_journal(path(), kGraph).plans.size(), 1u);
    EXPECT_EQ(read_journal(path(), kGraph).plans[0].key, plan(1).key);
    ASSERT_EQ(read_journal(path(), kOther).plans.size(), 1u);
    EXPECT_EQ(read_journal(path(), kOther).plans[0].key, plan(2).key);
}

TEST_F(Journals, SaysOnceThatAFileCannotBeWritten) {
    PlanJournal journal;
    QSignalSpy failures(&journal, &PlanJournal::cannot_write);
    journal.open("/proc/none/x.session.jsonl", kGraph);
    for (int i = 0; i < 5; ++i) journal.note_added(plan(i));
    ASSERT_TRUE(eventually([&] { return failures.count() > 0; }));
    journal.note_added(plan(7));
    process_events();
    EXPECT_EQ(failures.count(), 1);
    EXPECT_TRUE(journal.failed());
    journal.open(path(), kGraph);
    journal.note_added(plan(1));
    journal.flush();
    EXPECT_EQ(read_journal(path(), kGraph).plans.size(), 1u);
}

/// Whatever is read of a damaged file is a plan that was written.
TEST_F(Journals, DamageLosesPlansButMakesNone) {
    {
        PlanJournal journal;
        journal.open(path(), kGraph);
        for (int i = 0; i < 4; ++i) journal.note_added(plan(i));
        journal.note_removed(plan(0).key);
    }
    const std::string whole = *read_file(path());
    std::mt19937 random(5);
    for (int round = 0; round < 300; ++round) {
        std::string damaged = whole;
        for (int i = 0; i < 1 + round % 5; ++i)
            damaged[random() % damaged.size()] = static_cast<char>(random());
        if (round % 3 == 0) damaged.resize(random() % damaged.size());
        ASSERT_TRUE(write_file(path(), damaged));
        for (const Plan& read : read_journal(path(), kGraph).plans) {
            ASSERT_TRUE(read.schedule);
            EXPECT_EQ(read.key, key_of(*read.schedule));
        }
    }
}

TEST_F(Journals, LieBesideTheirGraph) {
    EXPECT_EQ(journal_path("/a/gpt.graph.json"), "/a/gpt.session.jsonl");
    EXPECT_EQ(journal_path("gpt.plan"), "gpt.session.jsonl");
    EXPECT_EQ(journal_path(""), "");
}

/// The program is killed while it sweeps: each plan that it had found is there when the graph is opened again.
TEST_F(Journals, PlansThatASweepFoundOutliveTheProgram) {
    const QString graph = write_chain(folder, 40);
    QProcess process;
    process.start(QCoreApplication::applicationFilePath(), {"--sweep", graph});
    QStringList found;
    ASSERT_TRUE(eventually([&] {
        process.waitForReadyRead(10);
        while (process.canReadLine()) found << QString::fromUtf8(process.readLine()).trimmed();
        return found.size() >= 5;
    }));
    process.kill();
    ASSERT_TRUE(process.waitForFinished());
    const Result<Opened> opened = open_file(graph.toStdString(), nullptr);
    ASSERT_TRUE(opened) << opened.error().message;
    PlanList plans;
    plans.restore(opened->kept.plans);
    for (const QString& key : found) EXPECT_NE(plans.row_of(key), PlanList::none) << key.toStdString();
}

}  // namespace
}  // namespace rematlas::explorer
