#include "app/explorer/files/plan_journal.h"

#include <gtest/gtest.h>

#include <QDir>
#include <QFile>
#include <QProcess>
#include <QSignalSpy>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "app/explorer/files/journal_file.h"
#include "app/explorer/files/open_file.h"
#include "core/base/files.h"
#include "core/schedule/run_sequence.h"
#include "tests/app/explorer/same_plans.h"
#include "tests/app/explorer/training_chain.h"

namespace rematlas::explorer {
namespace {

const std::string kGraph(64, 'a'), kOther(64, 'b');

PlanRow plan(int number) {
    const GraphPtr graph = loaded_chain(2);
    Schedule schedule = keep_all_schedule(*graph);
    schedule.graph_sha256 = kGraph;
    schedule.budget = Bytes(1000 + number);
    schedule.solve_seconds = 0.25;
    PlanRow plan{.key = key_of(schedule), .name = QString::number(number), .schedule = nullptr, .file = {}};
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
        PlanRow first = plan(1), second = plan(2);
        second.origin = PlanRow::Origin::swept;
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
    EXPECT_EQ(kept.plans[1].origin, PlanRow::Origin::swept);
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

TEST_F(Journals, WhatCouldNotBeWrittenIsWrittenWhenItCanBe) {
    const QString later = folder.filePath("later");
    const std::filesystem::path file = (later + "/x.session.jsonl").toStdString();
    PlanJournal journal;
    QSignalSpy failures(&journal, &PlanJournal::cannot_write), again(&journal, &PlanJournal::wrote_again);
    journal.open(file, kGraph);
    journal.note_added(plan(1));
    journal.note_added(plan(2));
    ASSERT_TRUE(eventually([&] { return failures.count() > 0; }));
    EXPECT_TRUE(journal.failed());
    ASSERT_TRUE(QDir().mkdir(later));
    journal.note_added(plan(3));
    journal.flush();
    ASSERT_TRUE(eventually([&] { return again.count() > 0; }));
    EXPECT_FALSE(journal.failed());
    const KeptPlans kept = read_journal(file, kGraph);
    ASSERT_EQ(kept.plans.size(), 3u);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(kept.plans[static_cast<std::size_t>(i)].key, plan(i + 1).key);
    EXPECT_EQ(failures.count(), 1);
    EXPECT_EQ(again.count(), 1);
}

/// Appends a changed copy of the first plan's line to the journal. In the copy, `field` has the JSON text
/// `value`.
void add_changed_line(const std::filesystem::path& path, const char* field, const std::string& value) {
    const std::string text = *read_file(path);
    nlohmann::json line = nlohmann::json::parse(text.substr(text.find("\n{") + 1));
    line[field] = "HERE";
    std::string changed = line.dump();
    changed.replace(changed.find("\"HERE\""), 6, value);
    ASSERT_TRUE(write_file(path, text + changed + '\n'));
}

TEST_F(Journals, ADamagedLineReplacesNoWholeLine) {
    for (const auto& [field, value] : {std::pair<const char*, std::string>{"schedule", "{}"},
                                       {"schedule", std::string(100'000, '[') + std::string(100'000, ']')},
                                       {"name", "7"},
                                       {"starred", "\"yes\""}}) {
        std::filesystem::remove(path());
        {
            PlanJournal journal;
            journal.open(path(), kGraph);
            journal.note_added(plan(1));
        }
        add_changed_line(path(), field, value);
        const std::string text = *read_file(path());
        const KeptPlans kept = plans_in_journal(text, kGraph);
        ASSERT_EQ(kept.plans.size(), 1u) << field;
        EXPECT_EQ(kept.plans[0].name, "1");
        EXPECT_EQ(kept.damaged, 1);
        EXPECT_TRUE(same_plans(plans_in_journal(compacted(text), kGraph), kept)) << field;
    }
}

TEST_F(Journals, AFileThatHasGrownIsMadeSmallerAndReadsTheSame) {
    {
        PlanJournal journal;
        journal.open(path(), kOther);
        journal.note_added(plan(9));
        journal.open(path(), kGraph);
        PlanRow kept = plan(1);
        journal.note_added(kept);
        for (int i = 0; i < 20; ++i) {
            journal.note_added(plan(2));
            journal.note_removed(plan(2).key);
            kept.name = QString::number(i);
            journal.note_renamed(kept);
            journal.note_shown(kept.key);
        }
    }
    const KeptPlans before = read_journal(path(), kGraph), other = read_journal(path(), kOther);
    const auto size = std::filesystem::file_size(path());
    PlanJournal journal;
    journal.open(path(), kGraph);
    journal.flush();
    EXPECT_LT(std::filesystem::file_size(path()), size / 4);
    EXPECT_TRUE(same_plans(read_journal(path(), kGraph), before));
    EXPECT_TRUE(same_plans(read_journal(path(), kOther), other));
    journal.note_added(plan(4));
    journal.flush();
    EXPECT_EQ(read_journal(path(), kGraph).plans.size(), 2u);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path().parent_path()), {}), 1)
        << "nothing is left beside it";
}

TEST_F(Journals, CompactedLinesReadTheSameWhateverWasNoted) {
    std::vector<PlanRow> plans;
    for (int i = 0; i < 4; ++i) plans.push_back(plan(i));
    std::mt19937 random(3);
    for (int round = 0; round < 30; ++round) {
        std::filesystem::remove(path());
        {
            PlanJournal journal;
            for (int i = 0; i < 40; ++i) {
                if (random() % 10 == 0 || i == 0) journal.open(path(), random() % 2 ? kGraph : kOther);
                PlanRow& any = plans[random() % plans.size()];
                any.name = QString::number(i);
                any.starred = random() % 2;
                const auto what = random() % 4;
                if (what == 0) journal.note_added(any);
                if (what == 1) journal.note_renamed(any);
                if (what == 2) journal.note_removed(any.key);
                if (what == 3) journal.note_shown(any.key);
            }
        }
        std::string text = *read_file(path());
        if (round % 2) text.resize(text.size() - random() % 200);
        ASSERT_TRUE(write_file(path(), text));
        const KeptPlans before = read_journal(path(), kGraph), other = read_journal(path(), kOther);
        ASSERT_TRUE(write_file(path(), compacted(text)));
        EXPECT_TRUE(same_plans(read_journal(path(), kGraph), before)) << round;
        EXPECT_TRUE(same_plans(read_journal(path(), kOther), other)) << round;
        EXPECT_EQ(compacted(compacted(text)), compacted(text));
    }
}

/// Reads damaged journals. Each plan that is read must be equal to a plan that was written.
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
        for (const PlanRow& read : read_journal(path(), kGraph).plans) {
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

/// Kills the program while it sweeps. All plans that it had found by then must be there when the graph is
/// opened again.
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
