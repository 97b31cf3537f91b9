#include "app/explorer/graph/graph_view.h"

#include <gtest/gtest.h>

#include <QHelpEvent>
#include <QTest>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <optional>

#include "tests/app/explorer/training_chain.h"

namespace rematlas::explorer {
namespace {

/// Lays out the items in one column, with the edges to its right.
Result<Layout> one_column(const LayoutRequest& request, std::stop_token) {
    Layout layout;
    double y = 40;
    for (const LayoutItem& item : request.items) {
        layout.items.push_back({40, y, item.size.width, item.size.height});
        y += item.size.height + 20;
    }
    layout.size = {400, y};
    for (const LayoutEdge& edge : request.edges) {
        const Rect &a = layout.items[edge.from], &b = layout.items[edge.to];
        layout.edges.push_back({{a.x, a.y}, {a.x + 200, a.y}, {b.x + 200, b.y}, {b.x, b.y}});
    }
    for (std::size_t i = 0; i < request.clusters.size(); ++i)
        layout.clusters.push_back({4.0 * i, 4.0 * i, 380, y - 8 * i});
    return layout;
}

class GraphViews : public testing::Test {
  protected:
    void SetUp() override {
        session.ladder.set_layout_function(one_column);
        view.resize(800, 600);
        view.show();
        QTemporaryDir folder;
        session.open({write_chain(folder, 5)});
        ASSERT_TRUE(eventually([&] { return !session.opening() && !session.ladder.running(); }));
    }
    QPoint position_of(int item) const {
        const Rect& rect = session.ladder.ladder()->layout.items[item];
        return view.mapFromScene(QPointF(rect.x + rect.width / 2, rect.y + rect.height / 2));
    }
    void wheel(const QPoint& at, int delta) {
        QWheelEvent event(at, view.viewport()->mapToGlobal(at), {}, {0, delta}, Qt::NoButton, Qt::NoModifier,
                          Qt::NoScrollPhase, false);
        QCoreApplication::sendEvent(view.viewport(), &event);
    }
    void settle() {
        ASSERT_TRUE(eventually([&] { return !session.ladder.running(); }));
    }

    Session session;
    GraphView view{session};
};

TEST_F(GraphViews, StartsAtTheTopWithTheWholeWidth) {
    const QRectF shown = view.mapToScene(view.viewport()->rect()).boundingRect();
    EXPECT_LE(shown.top(), 0);
    EXPECT_LE(shown.left(), 0);
    EXPECT_GE(shown.right(), 400);
}

TEST_F(GraphViews, AClickSelectsAndEscClears) {
    view.fit_all();
    QTest::mouseClick(view.viewport(), Qt::LeftButton, {}, position_of(0));
    EXPECT_FALSE(session.selection.current().empty());
    QTest::keyClick(&view, Qt::Key_Escape);
    EXPECT_TRUE(session.selection.current().empty());
}

TEST_F(GraphViews, TheBlockUnderThePointerAndTheSelectedOneAreMadeReadyToExpand) {
    session.ladder.set_layout_function(one_column, one_column);
    QTemporaryDir other;
    session.open({write_chain(other, 12, "longer")});
    const auto settled = [&] {
        return !session.opening() && !session.ladder.running() && !session.ladder.ahead().running();
    };
    ASSERT_TRUE(eventually(settled));
    const auto& items = session.ladder.ladder()->view.items;
    const auto run = std::find_if(items.begin(), items.end(), [](const auto& i) { return !i.run.empty(); });
    ASSERT_NE(run, items.end());
    const std::vector<BlockId> blocks = run->run;
    // Shows the blocks one by one. There are so many blocks that the background work does not lay out all of
    // them in advance.
    session.ladder.expand_block(blocks.front());
    ASSERT_TRUE(eventually(settled));
    view.fit_all();
    const auto is_ready = [&](BlockId block) {
        ExpandedBlocks expanded = session.ladder.ladder()->expanded;
        expand(session.graph()->graph.blocks, expanded, block);
        return session.ladder.ahead().find(expanded) != nullptr;
    };
    const BlockId pointed = blocks.back(), selected = blocks[blocks.size() - 2];
    EXPECT_FALSE(is_ready(pointed) || is_ready(selected));
    const int item = session.ladder.items_of(Selected::of(pointed)).front();
    QMouseEvent move(QEvent::MouseMove, position_of(item), Qt::NoButton, Qt::NoButton, Qt::NoModifier);
    QCoreApplication::sendEvent(view.viewport(), &move);
    EXPECT_TRUE(eventually([&] { return is_ready(pointed); }));
    session.selection.select(Selected::of(selected));
    EXPECT_TRUE(eventually([&] { return is_ready(selected); }));
}

TEST_F(GraphViews, ADoubleClickExpandsABlockAndItsTwin) {
    session.ladder.set_depth(1);
    settle();
    view.fit_all();
    const LadderPtr ladder = session.ladder.ladder();
    int item = -1;
    for (std::size_t i = 0; i < ladder->view.items.size(); ++i) {
        if (ladder->view.items[i].block.valid() && ladder->view.items[i].twin >= 0)
            item = static_cast<int>(i);
    }
    ASSERT_GE(item, 0);
    const BlockId block = ladder->view.items[item].block;
    const BlockId twin = session.graph()->graph.blocks[block].twin;
    QTest::mouseDClick(view.viewport(), Qt::LeftButton, {}, position_of(item));
    settle();
    EXPECT_TRUE(session.ladder.is_expanded(block));
    EXPECT_GE(session.ladder.ladder()->cluster_of[block], 0);
    EXPECT_GE(session.ladder.ladder()->cluster_of[twin], 0);
}

TEST_F(GraphViews, ADoubleClickOnARunShowsItsBlocks) {
    int item = -1;
    for (int depth = 1; depth <= session.ladder.full_depth() && item < 0; ++depth) {
        session.ladder.set_depth(depth);
        settle();
        const std::vector<BlockViewItem>& items = session.ladder.ladder()->view.items;
        for (std::size_t i = 0; i < items.size(); ++i)
            if (!items[i].run.empty()) item = static_cast<int>(i);
    }
    ASSERT_GE(item, 0) << "the chain has equal layers";
    view.fit_all();
    const std::vector<BlockId> run = session.ladder.ladder()->view.items[item].run;
    QTest::mouseDClick(view.viewport(), Qt::LeftButton, {}, position_of(item));
    settle();
    std::size_t shown = 0;
    for (const BlockViewItem& i : session.ladder.ladder()->view.items)
        shown += i.run.empty() && std::find(run.begin(), run.end(), i.block) != run.end();
    EXPECT_EQ(shown, run.size());
}

TEST_F(GraphViews, TheWheelZoomsAroundThePointer) {
    const QPoint at(300, 200);
    const double before = view.transform().m11();
    const QPointF under = view.mapToScene(at);
    wheel(at, 240);
    EXPECT_GT(view.transform().m11(), before);
    const QPointF now = view.mapToScene(at);
    EXPECT_NEAR(now.x(), under.x(), 3);
    EXPECT_NEAR(now.y(), under.y(), 3);
}

TEST_F(GraphViews, SpaceFitsEverythingAndFBringsTheSelectionBack) {
    wheel(QPoint(300, 200), 2000);
    QTest::keyClick(&view, Qt::Key_Space);
    const QRectF shown = view.mapToScene(view.viewport()->rect()).boundingRect();
    const Size whole = session.ladder.ladder()->layout.size;
    EXPECT_TRUE(shown.contains(QRectF(0, 0, whole.width, whole.height)));
    session.selection.select(Selected::of(OpId(2)));
    wheel(QPoint(10, 590), 3000);
    view.center_selection();
    EXPECT_TRUE(view.viewport()->rect().contains(position_of(session.ladder.ladder()->item_of[OpId(2)])));
}

TEST_F(GraphViews, DragPansAndDoesNotSelect) {
    const QPointF before = view.mapToScene(QPoint(0, 0));
    QTest::mousePress(view.viewport(), Qt::LeftButton, {}, QPoint(400, 300));
    QMouseEvent move(QEvent::MouseMove, QPointF(400, 200), Qt::LeftButton, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(view.viewport(), &move);
    QTest::mouseRelease(view.viewport(), Qt::LeftButton, {}, QPoint(400, 200));
    EXPECT_GT(view.mapToScene(QPoint(0, 0)).y(), before.y());
    EXPECT_TRUE(session.selection.current().empty());
}

TEST_F(GraphViews, ArrowsWalkTheChainAndCrossToTheTwin) {
    session.ladder.set_depth(session.ladder.full_depth());
    settle();
    session.selection.select(Selected::of(OpId(0)));
    QTest::keyClick(&view, Qt::Key_Down);
    EXPECT_EQ(session.selection.current(), Selected::of(OpId(1)));
    QTest::keyClick(&view, Qt::Key_Up);
    EXPECT_EQ(session.selection.current(), Selected::of(OpId(0)));
}

TEST_F(GraphViews, AnArrowIsSelectedByAClickWithItsTwoEnds) {
    view.fit_all();
    const LadderPtr& ladder = session.ladder.ladder();
    // Finds a point of the first arrow at which no item covers the arrow.
    const std::vector<Point>& spline = ladder->layout.edges.front();
    std::optional<QPoint> free;
    for (double t = 0.1; t < 1 && !free; t += 0.1) {
        const double u = 1 - t, weights[] = {u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t};
        QPointF place;
        for (std::size_t i = 0; i < 4; ++i) place += weights[i] * QPointF(spline[i].x, spline[i].y);
        const GraphHit hit = view.layer().hit(place);
        if (hit.item < 0 && !hit.title) free = view.mapFromScene(place);
    }
    ASSERT_TRUE(free);
    const QPoint at = *free;
    QTest::mouseClick(view.viewport(), Qt::LeftButton, {}, at);
    const BlockViewEdge& edge = ladder->view.edges.front();
    EXPECT_EQ(view.layer().marked_edge(), 0);
    EXPECT_EQ(view.layer().marked(),
              (std::vector<int>{std::min(edge.from, edge.to), std::max(edge.from, edge.to)}));
    EXPECT_TRUE(session.selection.current().empty());
    QHelpEvent help(QEvent::ToolTip, at, view.viewport()->mapToGlobal(at));
    QCoreApplication::sendEvent(view.viewport(), &help);
    EXPECT_TRUE(QToolTip::text().contains(" to ")) << QToolTip::text().toStdString();
    EXPECT_TRUE(QToolTip::text().contains("tensor")) << QToolTip::text().toStdString();
    QTest::mouseClick(view.viewport(), Qt::LeftButton, {}, position_of(0));
    EXPECT_EQ(view.layer().marked_edge(), -1);
}

}  // namespace
}  // namespace rematlas::explorer
