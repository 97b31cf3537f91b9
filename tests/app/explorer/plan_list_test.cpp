#include "app/explorer/models/plan_list.h"

#include <gtest/gtest.h>

#include <QSignalSpy>
#include <algorithm>

namespace rematlas::explorer {
namespace {

/// Returns a schedule. Schedules with different `number` are different.
Schedule schedule(int number, Bytes budget = Bytes(100), const std::string& solver = "atlas") {
    Schedule schedule;
    schedule.solver = solver;
    schedule.budget = budget;
    schedule.overhead = 1.5 - 0.01 * number;
    schedule.steps = {Step::run(OpId(number))};
    return schedule;
}

QStringList names(const PlanList& plans) {
    QStringList names;
    for (int row = 0; row < plans.rowCount(); ++row) names << plans.plan(row).name;
    return names;
}

TEST(PlanList, NamesPlansByLettersAndKnowsAPlanThatComesAgain) {
    PlanList plans;
    for (int i = 0; i < 28; ++i) EXPECT_EQ(plans.add(schedule(i), PlanRow::Origin::solved), i);
    EXPECT_EQ(plans.plan(0).name, "A");
    EXPECT_EQ(plans.plan(25).name, "Z");
    EXPECT_EQ(plans.plan(27).name, "AB");
    EXPECT_EQ(plans.add(schedule(3), PlanRow::Origin::opened, "/x.schedule.json"), 3);
    EXPECT_EQ(plans.plan(3).file, "/x.schedule.json");
    EXPECT_EQ(plans.rowCount(), 28);
}

TEST(PlanList, OfTwoWindowsOnOneGraphHasNamesOfItsOwn) {
    std::vector<PlanRow> kept;
    for (int i = 0; i < 3; ++i) {
        auto one = std::make_shared<const Schedule>(schedule(i));
        kept.push_back({.key = key_of(*one), .name = "B", .schedule = one, .file = {}});
    }
    PlanList plans;
    plans.restore(kept);
    EXPECT_EQ(names(plans), (QStringList{"B", "B 2", "B 3"}));
}

TEST(PlanList, PlansOfOtherBudgetsSolversOrStepsAreOthers) {
    const QString key = key_of(schedule(1));
    EXPECT_EQ(key, key_of(schedule(1)));
    EXPECT_NE(key, key_of(schedule(2)));
    EXPECT_NE(key, key_of(schedule(1, Bytes(101))));
    EXPECT_NE(key, key_of(schedule(1, Bytes(100), "rotor")));
    Schedule other = schedule(1);
    for (const Step step : {Step::run_inplace(OpId(1)), Step::free(TensorId(1)), Step::offload(TensorId(1)),
                            Step::fetch(TensorId(1))}) {
        other.steps = {step};
        EXPECT_NE(key, key_of(other)) << to_string(step.kind);
    }
}

TEST(PlanList, PlansWithOtherPinsHomesLinksOrArenasAreOthers) {
    std::vector<QString> keys{key_of(schedule(1))};
    const auto add_changed = [&](const auto& change) {
        Schedule other = schedule(1);
        change(other);
        keys.push_back(key_of(other));
    };
    add_changed([](Schedule& s) { s.pins = {{"blocks.0", PinKind::keep}}; });
    add_changed([](Schedule& s) { s.pins = {{"blocks.0", PinKind::recompute}}; });
    add_changed([](Schedule& s) { s.homes.on_host = {TensorId(0)}; });
    add_changed([](Schedule& s) { s.homes = {.on_host = {TensorId(0)}, .stays = {TensorId(0)}}; });
    add_changed([](Schedule& s) { s.homes = {.on_host = {TensorId(0)}, .cyclic = true}; });
    add_changed([](Schedule& s) { s.links = Links{.to_host_bytes_per_second = 1e9}; });
    add_changed([](Schedule& s) {
        s.links = Links{.to_host_bytes_per_second = 1e9, .to_host_contended_bytes_per_second = 5e8};
    });
    add_changed(
        [](Schedule& s) { s.addresses = Addresses{.alignment = 64, .arena = Bytes(640), .offsets = {}}; });
    const std::size_t all = keys.size();
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    EXPECT_EQ(keys.size(), all);
}

TEST(PlanList, GoesBackAndForwardThroughWhatWasShown) {
    PlanList plans;
    for (int i = 0; i < 4; ++i) plans.add(schedule(i), PlanRow::Origin::solved);
    EXPECT_EQ(plans.shown(), PlanList::none);
    EXPECT_FALSE(plans.can_go(-1));
    for (const int row : {2, 0, 3}) plans.show(row);
    plans.go(-1);
    EXPECT_EQ(plans.shown(), 0);
    plans.go(-1);
    EXPECT_EQ(plans.shown(), 2);
    EXPECT_FALSE(plans.can_go(-1));
    plans.go(1);
    plans.show(1);
    EXPECT_FALSE(plans.can_go(1)) << "what came after the place it went on from is over";
    plans.go(-1);
    EXPECT_EQ(plans.shown(), 0);
}

TEST(PlanList, PassesOverRemovedPlansOnTheWayBack) {
    PlanList plans;
    for (int i = 0; i < 3; ++i) plans.add(schedule(i), PlanRow::Origin::solved);
    for (const int row : {0, 1, 2}) plans.show(row);
    plans.remove(1);
    plans.go(-1);
    EXPECT_EQ(plans.plan(plans.shown()).name, "A");
    plans.go(1);
    EXPECT_EQ(plans.plan(plans.shown()).name, "C");
}

TEST(PlanList, ARemovedPlanComesBackToItsPlaceWithItsNameAndStar) {
    PlanList plans;
    for (int i = 0; i < 3; ++i) plans.add(schedule(i), PlanRow::Origin::solved);
    plans.rename(1, "  half of it ");
    plans.set_starred(1, true);
    plans.show(1);
    plans.remove(1);
    EXPECT_EQ(names(plans), (QStringList{"A", "C"}));
    EXPECT_EQ(plans.shown(), PlanList::none) << "what is shown is a row";
    EXPECT_EQ(plans.plan(plans.add(schedule(9), PlanRow::Origin::solved)).name, "B");
    plans.undo_remove();
    EXPECT_EQ(names(plans), (QStringList{"A", "half of it", "C", "B"}));
    EXPECT_TRUE(plans.plan(1).starred);
    EXPECT_EQ(plans.shown(), 1) << "as before, since nothing else is shown";
    EXPECT_FALSE(plans.can_undo());
}

TEST(PlanList, ABetterPointOfASweepTakesThePlaceOfTheFirstUnlessThatOneIsStarred) {
    PlanList plans;
    plans.add(schedule(1), PlanRow::Origin::swept);
    plans.add(schedule(2, Bytes(200)), PlanRow::Origin::swept);
    plans.show(0);
    EXPECT_EQ(plans.add(schedule(3), PlanRow::Origin::swept), 0);
    EXPECT_EQ(names(plans), (QStringList{"atlas at 100 B", "atlas at 200 B"}));
    EXPECT_EQ(plans.plan(0).schedule->steps, schedule(3).steps);
    EXPECT_EQ(plans.shown(), 0) << "the better one is shown then";
    plans.set_starred(0, true);
    EXPECT_EQ(plans.add(schedule(4), PlanRow::Origin::swept), 2);
    EXPECT_EQ(plans.add(schedule(5), PlanRow::Origin::solved), 3) << "what was solved for is never replaced";
    EXPECT_EQ(plans.add(schedule(6), PlanRow::Origin::swept), 2);
}

TEST(PlanList, WhatASweepFindsAtSeveralBudgetsIsOneRowOfTheSmallest) {
    PlanList plans;
    EXPECT_EQ(plans.add(schedule(1, Bytes(200)), PlanRow::Origin::swept), 0);
    plans.show(0);
    EXPECT_EQ(plans.add(schedule(1, Bytes(300)), PlanRow::Origin::swept), 0);
    EXPECT_EQ(plans.plan(0).schedule->budget, Bytes(200));
    EXPECT_EQ(plans.add(schedule(1, Bytes(100)), PlanRow::Origin::swept), 0);
    EXPECT_EQ(plans.rowCount(), 1);
    EXPECT_EQ(plans.plan(0).schedule->budget, Bytes(100));
    EXPECT_EQ(plans.plan(0).name, "atlas at 100 B") << "the name follows the budget";
    EXPECT_EQ(plans.shown(), 0);
    EXPECT_EQ(plans.add(schedule(1, Bytes(100), "rotor"), PlanRow::Origin::swept), 1) << "another solver";
    Schedule pinned = schedule(1, Bytes(150));
    pinned.pins = {{"x", PinKind::keep}};
    EXPECT_EQ(plans.add(pinned, PlanRow::Origin::swept), 2) << "other pins";
    EXPECT_EQ(plans.add(schedule(1, Bytes(90)), PlanRow::Origin::solved), 3)
        << "what was solved for is a row";
}

TEST(PlanList, TellsOfEachChangeOnce) {
    PlanList plans;
    QSignalSpy added(&plans, &PlanList::plan_added), renamed(&plans, &PlanList::plan_renamed),
        removed(&plans, &PlanList::plan_removed), shown(&plans, &PlanList::shown_changed);
    plans.add(schedule(1), PlanRow::Origin::solved);
    plans.add(schedule(1), PlanRow::Origin::solved);
    plans.rename(0, "");
    plans.rename(0, "A");
    plans.set_starred(0, false);
    EXPECT_EQ(added.count(), 1);
    EXPECT_EQ(renamed.count(), 0);
    plans.setData(plans.index(0, PlanList::name), "mine");
    EXPECT_EQ(renamed.count(), 1);
    plans.show(0);
    plans.show(0);
    EXPECT_EQ(shown.count(), 1);
    plans.remove(0);
    EXPECT_EQ(removed.count(), 1);
    EXPECT_EQ(shown.count(), 2);
}

}  // namespace
}  // namespace rematlas::explorer
