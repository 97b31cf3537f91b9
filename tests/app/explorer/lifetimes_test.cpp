// Tests the bars of the tensors that are held at the cursor. They must have the same numbers as the dock "In
// memory". Mouse and keys must go from a tensor to its maker and its readers.
#include <QComboBox>
#include <QMenu>
#include <QScrollBar>
#include <QtTest>
#include <numeric>

#include "app/explorer/docks/alive_view.h"
#include "app/explorer/docks/lifetimes_view.h"
#include "app/explorer/look/picture_or_table.h"
#include "app/explorer/models/lifetimes_table.h"
#include "app/explorer/words/wording.h"
#include "core/schedule/run_sequence.h"
#include "tests/app/explorer/table_column.h"
#include "tests/app/explorer/window_fixture.h"
#include "tests/core/support/random_graph.h"

namespace rematlas::explorer {
namespace {

Bytes sum_of(const LifetimeBars& bars) {
    Bytes sum = bars.more_bytes;
    for (const LifetimeBar& bar : bars.bars) sum += bar.bytes;
    return sum;
}

SchedulePtr each_op_once_of(Graph graph) {
    const GraphPtr loaded = prepare_graph(std::move(graph), {}, {});
    return prepare_schedule(loaded, keep_all_schedule(*loaded));
}

TEST(LifetimeRows, AddUpToWhatIsInMemoryAtEachStep) {
    int steps = 0;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        const SchedulePtr schedule = each_op_once_of(random_training_graph(seed, {.forward_ops = 8}));
        const LifetimeRows rows(schedule);
        AliveModel memory;
        memory.set_schedule(schedule);
        for (int step = -1; step < static_cast<int>(schedule->schedule.steps.size()); ++step) {
            memory.set_step(step);
            for (const LifetimeOrder order : {LifetimeOrder::bytes, LifetimeOrder::bytes_by_idle})
                for (const std::size_t most : {std::size_t{3}, std::size_t{200}}) {
                    const LifetimeBars bars = rows.at({.cursor = step, .order = order, .most = most});
                    ASSERT_EQ(bars.total, memory.total()) << seed << " at " << step;
                    ASSERT_EQ(sum_of(bars), memory.total());
                    ASSERT_EQ(bars.step, memory.step());
                    ASSERT_LE(bars.bars.size(), most);
                    ASSERT_EQ(bars.bars.size() + bars.more, static_cast<std::size_t>(memory.rowCount()));
                    ++steps;
                }
        }
    }
    EXPECT_GT(steps, 1000);
}

TEST(LifetimeRows, PartsOfTheModelAddUpToTheWhole) {
    const SchedulePtr schedule = each_op_once_of(training_chain(8));
    const LifetimeRows rows(schedule);
    ASSERT_GT(rows.parts().size(), 3);
    for (int step = 0; step < static_cast<int>(schedule->schedule.steps.size()); step += 3) {
        Bytes sum;
        std::size_t tensors = 0;
        for (int part = 0; part < rows.parts().size(); ++part) {
            const LifetimeBars bars = rows.at({.cursor = step, .part = part});
            EXPECT_EQ(sum_of(bars), bars.total);
            sum += bars.total;
            tensors += bars.tensors;
        }
        const LifetimeBars all = rows.at({.cursor = step});
        EXPECT_EQ(sum, all.total);
        EXPECT_EQ(tensors, all.tensors);
    }
}

TEST(LifetimeRows, EveryBarCrossesTheCursorAndHasItsUsesInIt) {
    const SchedulePtr schedule = each_op_once_of(random_training_graph(5, {.forward_ops = 20}));
    const LifetimeRows rows(schedule);
    for (int step = 0; step < static_cast<int>(schedule->schedule.steps.size()); ++step) {
        const LifetimeBars bars = rows.at({.cursor = step});
        const double cursor = bars.spans.middle(bars.step);
        for (const LifetimeBar& bar : bars.bars) {
            EXPECT_LE(bar.begin, cursor) << bar.name;
            EXPECT_GE(bar.end, cursor) << bar.name;
            EXPECT_TRUE(std::is_sorted(bar.reads.begin(), bar.reads.end()));
            for (const int read : bar.reads) {
                EXPECT_GE(read, bar.made);
                EXPECT_TRUE(bar.freed < 0 || read <= bar.freed);
            }
            EXPECT_GE(bar.idle(), 0);
            EXPECT_LE(bar.idle_end, bar.end);
        }
    }
}

TEST(LifetimeRows, WhatLiesUnusedTheLongestComesFirst) {
    const SchedulePtr schedule = each_op_once_of(training_chain(6));
    const LifetimeRows rows(schedule);
    const LifetimeBars bars = rows.at({.cursor = -1, .order = LifetimeOrder::bytes_by_idle});
    const auto weight = [](const LifetimeBar& bar) {
        return static_cast<double>(bar.bytes.value) * bar.idle();
    };
    for (std::size_t i = 1; i < bars.bars.size(); ++i)
        EXPECT_GE(weight(bars.bars[i - 1]), weight(bars.bars[i]));
    // Each op takes 1 us. The first and the last of 25 ops read the input. The second and the second last op
    // read conv0.
    EXPECT_EQ(bars.bars[0].name, "input");
    EXPECT_DOUBLE_EQ(bars.bars[0].idle(), 23'000);
    EXPECT_EQ(bars.bars[1].name, "conv0");
    EXPECT_DOUBLE_EQ(bars.bars[1].idle(), 21'000);
}

TEST(LifetimeRows, ATensorThatStandsOutHasABarWhereverItIsInTheOrder) {
    const SchedulePtr schedule = each_op_once_of(training_chain(30));
    const LifetimeRows rows(schedule);
    const LifetimeBars all = rows.at({});
    ASSERT_GT(all.bars.size(), 40u);
    const TensorId last = all.bars.back().tensor;
    const LifetimeBars few = rows.at({.always = last, .most = 10});
    ASSERT_EQ(few.bars.size(), 10u);
    EXPECT_EQ(few.bars.back().tensor, last);
    EXPECT_EQ(sum_of(few), sum_of(all));
}

class Lifetimes : public Windows {
  protected:
    void SetUp() override {
        Windows::SetUp();
        open(sample("gpt"));
        window->dock("lifetimes")->raise();
        process_events();
        session().selection.set_cursor(static_cast<int>(session().schedule()->simulation.peak_step));
    }
    Session& session() { return window->session(); }
    LifetimesView& view() { return *window->findChild<LifetimesView*>(); }
    LifetimesPicture& picture() { return view().picture(); }
    const LifetimeBars& bars() { return view().bars(); }
    Bytes in_memory() { return window->findChild<AliveView*>()->model().total(); }
    void press(Qt::Key key, Qt::KeyboardModifiers modifiers = {}) {
        QTest::keyClick(&picture(), key, modifiers);
    }
    void click(const QPoint& at) { QTest::mouseClick(picture().viewport(), Qt::LeftButton, {}, at); }
    /// Returns the point in the row of a bar at a value of the time axis.
    QPoint at(double value, int bar) {
        const LifetimesScene scene = picture().scene();
        const LifetimesPlaces places = places_of(scene);
        return {static_cast<int>(std::lround(places.x.at(value))),
                static_cast<int>(places.rows.y + (bar + 0.5) * scene.row_height - scene.scroll)};
    }
    /// Returns the first bar whose tensor was made by an op and will be read by a later op; -1 if there is
    /// none.
    int bar_to_follow() {
        for (std::size_t i = 0; i < bars().bars.size(); ++i) {
            const LifetimeBar& bar = bars().bars[i];
            if (bar.maker.valid() && bar.tensor.valid() && bar.made < bars().step && bar.reads.size() > 1 &&
                bar.reads.back() > bars().step)
                return static_cast<int>(i);
        }
        return -1;
    }
};

TEST_F(Lifetimes, FollowTheCursorAndSayWhatInMemorySays) {
    for (const int step : {-1, 0, 40, 100, 7}) {
        session().selection.set_cursor(step);
        EXPECT_EQ(bars().total, in_memory()) << step;
        EXPECT_EQ(sum_of(bars()), in_memory()) << step;
        EXPECT_TRUE(child<QLabel>("lifetimes_headline")->text().contains(bytes_text(in_memory())));
    }
    session().selection.set_range({10, 60});
    session().selection.set_cursor(-1);
    EXPECT_EQ(bars().total, in_memory()) << "of the part that is looked at";
    session().close();
    EXPECT_EQ(bars().step, -1);
    picture().grab();
}

TEST_F(Lifetimes, AClickOnAMarkMovesTheCursorThereAndElsewhereSelectsTheMaker) {
    const int bar = bar_to_follow();
    ASSERT_GE(bar, 0);
    const LifetimeBar followed = bars().bars[static_cast<std::size_t>(bar)];
    picture().verticalScrollBar()->setValue(std::max(0, bar - 2) * 20);
    click(at(bars().spans.middle(followed.reads.back()), bar));
    EXPECT_EQ(session().selection.cursor(), followed.reads.back());
    ASSERT_GE(picture().current(), 0);
    const LifetimeBar now = bars().bars[static_cast<std::size_t>(picture().current())];
    EXPECT_EQ(now.tensor, followed.tensor) << "the tensor stays the one that stands out";
    EXPECT_EQ(bars().total, in_memory());
    const int row = picture().current();
    picture().verticalScrollBar()->setValue(std::max(0, row - 2) * 20);
    click({20, at(0, row).y()});  // clicks on the bar's name
    EXPECT_EQ(session().selection.current(), Selected::of(followed.maker));
}

TEST_F(Lifetimes, KeysGoFromTensorToTensorAndFromUseToUse) {
    press(Qt::Key_Down);
    EXPECT_EQ(picture().current(), 0);
    const int bar = bar_to_follow();
    for (int i = 0; i < bar; ++i) press(Qt::Key_Down);
    ASSERT_EQ(picture().current(), bar);
    const LifetimeBar followed = bars().bars[static_cast<std::size_t>(bar)];
    press(Qt::Key_Return);
    EXPECT_EQ(session().selection.current(), Selected::of(followed.maker));
    for (std::size_t i = 0; i < followed.reads.size(); ++i) press(Qt::Key_Right);
    EXPECT_EQ(session().selection.cursor(), followed.reads.back());
    for (std::size_t i = 0; i < followed.reads.size(); ++i) press(Qt::Key_Left);
    EXPECT_EQ(session().selection.cursor(), followed.made);
    press(Qt::Key_Left);
    EXPECT_EQ(session().selection.cursor(), followed.made) << "there is no use before";
    press(Qt::Key_W);
    EXPECT_LT(picture().to() - picture().from(), bars().spans.length * 0.81);
    press(Qt::Key_Home);
    EXPECT_DOUBLE_EQ(picture().to() - picture().from(), bars().spans.length);
}

TEST_F(Lifetimes, CtrlAndTheWheelZoomTheWheelAloneScrolls) {
    const QPoint at(500, 60);
    const auto turn = [&](Qt::KeyboardModifiers modifiers, int by) {
        QWheelEvent event(at, picture().viewport()->mapToGlobal(at), QPoint(), QPoint(0, by), Qt::NoButton,
                          modifiers, Qt::NoScrollPhase, false);
        QCoreApplication::sendEvent(picture().viewport(), &event);
    };
    turn(Qt::ControlModifier, 240);
    EXPECT_LT(picture().to() - picture().from(), bars().spans.length);
    EXPECT_EQ(picture().verticalScrollBar()->value(), 0);
    turn({}, -240);
    EXPECT_GT(picture().verticalScrollBar()->value(), 0);
}

TEST_F(Lifetimes, AnItemOfInMemoryIsShownWithItsTensorStandingOut) {
    window->dock("alive")->raise();
    auto* table = child<QTreeView>("alive");
    const QModelIndex row = table->model()->index(table->model()->rowCount() / 2, 0);
    table->setFocus();
    table->setCurrentIndex(row);
    QTest::keyClick(table, Qt::Key_Return);
    EXPECT_TRUE(picture().hasFocus()) << "the view comes to the front";
    ASSERT_GE(picture().current(), 0);
    EXPECT_EQ(text(bars().bars[static_cast<std::size_t>(picture().current())].name), row.data().toString());
    QTest::mouseClick(child<QToolButton>("alive_lifetimes"), Qt::LeftButton);
    EXPECT_EQ(child<QComboBox>("lifetimes_part")->currentIndex(), 0);
}

TEST_F(Lifetimes, ABandOfTheMemoryIsShownWithItsTensorsAlone) {
    LanesView& lanes = window->lanes();
    window->dock("schedule")->raise();
    process_events();
    const Rect memory = lanes.places().memory;
    const QPoint peak(
        static_cast<int>(lanes.places().x.at(lanes.data().begin_of(lanes.data().peak_step)) + 1),
        static_cast<int>(lanes.places().y.at(static_cast<double>(lanes.data().peak) * 0.6)));
    ASSERT_GT(peak.y(), memory.y);
    QTest::mouseClick(&lanes, Qt::LeftButton, Qt::ControlModifier, peak);
    auto* part = child<QComboBox>("lifetimes_part");
    EXPECT_TRUE(picture().hasFocus());
    EXPECT_GT(part->currentIndex(), 0) << "the part of the band";
    EXPECT_GT(bars().total.value, 0);
    EXPECT_LT(bars().total, in_memory());
    for (const LifetimeBar& bar : bars().bars) EXPECT_LE(bar.begin, bars().spans.middle(bars().step));
    part->setCurrentIndex(0);
    EXPECT_EQ(bars().total, in_memory());

    QContextMenuEvent right(QContextMenuEvent::Mouse, peak, lanes.mapToGlobal(peak));
    QCoreApplication::sendEvent(&lanes, &right);
    auto* menu = lanes.findChild<QMenu*>();
    ASSERT_TRUE(menu);
    ASSERT_EQ(menu->actions().size(), 2);
    menu->actions().front()->trigger();
    EXPECT_GT(part->currentIndex(), 0);
    menu->actions().back()->trigger();
    EXPECT_EQ(part->currentIndex(), 0);
    menu->close();
}

TEST_F(Lifetimes, TheTableHasTheSameRowsAndTheOrderIsChosen) {
    auto* both = qobject_cast<PictureOrTable*>(window->dock("lifetimes")->widget());
    ASSERT_TRUE(both);
    const FiguresTable& table = both->figures();
    ASSERT_EQ(table.rowCount(), static_cast<int>(bars().bars.size()));
    Bytes sum = bars().more_bytes;
    for (int row = 0; row < table.rowCount(); ++row)
        sum += Bytes(cell_of(table, row, "Bytes").data(FiguresTable::value_role).toLongLong());
    EXPECT_EQ(sum, in_memory());
    const auto is_before = [](LifetimeOrder order) {
        return [order](const LifetimeBar& a, const LifetimeBar& b) {
            const auto weight = [order](const LifetimeBar& bar) {
                const double bytes = static_cast<double>(bar.bytes.value);
                return order == LifetimeOrder::bytes ? bytes : bytes * bar.idle();
            };
            return weight(a) > weight(b);
        };
    };
    const auto is_sorted_by = [&](LifetimeOrder order) {
        return std::is_sorted(bars().bars.begin(), bars().bars.end(), is_before(order));
    };
    EXPECT_TRUE(is_sorted_by(LifetimeOrder::bytes));
    EXPECT_FALSE(is_sorted_by(LifetimeOrder::bytes_by_idle));
    child<QComboBox>("lifetimes_order")->setCurrentIndex(1);
    EXPECT_TRUE(is_sorted_by(LifetimeOrder::bytes_by_idle));
    EXPECT_EQ(text(bars().bars.front().name), cell_of(table, 0, "Tensor").data().toString());
    const int bar = bar_to_follow();
    emit both->chosen(bar);
    EXPECT_EQ(picture().current(), bar);
    EXPECT_EQ(session().selection.current(), Selected::of(bars().bars[static_cast<std::size_t>(bar)].maker));
}

TEST_F(Lifetimes, TipsTellMakerReadersAndIdleTime) {
    const int bar = bar_to_follow();
    const LifetimeBar& followed = bars().bars[static_cast<std::size_t>(bar)];
    const QString tip = bar_tip(*session().schedule(), bars(), bar);
    for (const QString& part : {text(followed.name), bytes_text(followed.bytes),
                                "made by " + numbered_op(*session().graph(), followed.maker),
                                QString("read %1 times").arg(followed.reads.size()),
                                "unused for " + text(idle_text(bars(), followed)), QString("freed at ")})
        EXPECT_TRUE(tip.contains(part)) << tip.toStdString() << "\nlacks " << part.toStdString();
}

}  // namespace
}  // namespace rematlas::explorer
