// Tests the window with a graph that has thousands of ops and no modules.
#include <QGraphicsScene>
#include <QTest>

#include "core/graph/graph_file.h"
#include "tests/app/explorer/window_fixture.h"
#include "tests/core/support/irregular_graph.h"

namespace rematlas::explorer {
namespace {

class LargeGraphs : public Windows {
  protected:
    void SetUp() override {
        Windows::SetUp();
        Graph graph = irregular_graph({.forward_ops = 900});
        const QString path = folder.filePath("irregular.graph.json");
        ASSERT_TRUE(write_graph(graph, path.toStdString()));
        open(path);
    }
    /// Returns the number of items that are at least partly in the visible part of the graph.
    int seen() {
        const GraphView& view = window->graph_view();
        const QRectF shown = view.mapToScene(view.viewport()->rect()).boundingRect();
        int count = 0;
        for (const Rect& item : window->session().ladder.ladder()->layout.items)
            count += shown.intersects({item.x, item.y, item.width, item.height});
        return count;
    }
    void deeper() {
        child<QAction>("deeper")->trigger();
        ASSERT_TRUE(eventually([&] { return !window->session().ladder.running(); }));
        process_events();
    }
};

TEST_F(LargeGraphs, OneLevelMoreShowsOps) {
    EXPECT_GT(seen(), 0);
    for (int level = 0; level < 3; ++level) {
        deeper();
        EXPECT_GT(seen(), 0) << "level " << level << " of "
                             << window->session().ladder.ladder()->layout.items.size() << " items";
    }
}

TEST_F(Windows, ALongGraphIsFittedInColumnsThatCanBeRead) {
    open(write_chain(folder, 200));
    LadderController& ladder = window->session().ladder;
    ladder.set_depth(ladder.full_depth());
    ASSERT_TRUE(eventually([&] { return !ladder.running() && idle(); }));
    process_events();
    GraphView& view = window->graph_view();
    const GraphLayer& layer = view.layer();
    const auto items = static_cast<int>(window->session().ladder.ladder()->layout.items.size());
    ASSERT_GT(items, 500);
    EXPECT_EQ(layer.columns().count(), 1);
    view.fit_all();
    const GraphColumns& columns = layer.columns();
    ASSERT_GT(columns.count(), 2);
    const double scale = view.transform().m11(), tall = window->session().ladder.ladder()->layout.size.height;
    EXPECT_GT(scale, 1.5 * view.viewport()->height() / tall) << "larger than in one column";
    const QRectF seen = view.mapToScene(view.viewport()->rect()).boundingRect();
    for (int i = 0; i < items; ++i) {
        const QRectF place = layer.item_rect(i);
        EXPECT_TRUE(seen.contains(place)) << i;
        EXPECT_EQ(layer.hit(place.center()).item, i);
        EXPECT_EQ(layer.items_in(QRectF(place.center(), QSizeF(0.1, 0.1))), std::vector<int>{i});
    }
    QTest::mouseClick(view.viewport(), Qt::LeftButton, {},
                      view.mapFromScene(layer.item_rect(items / 2).center()));
    EXPECT_EQ(layer.marked(), std::vector<int>{items / 2});
    view.fit_width();
    EXPECT_EQ(layer.columns().count(), 1);
}

TEST_F(LargeGraphs, ColumnsCutBetweenItems) {
    Layout layout{.size = {100, 1000}, .items = {}, .edges = {}, .clusters = {}};
    for (int i = 0; i < 20; ++i) layout.items.push_back({10, 50.0 * i + 5, 80, 40});
    for (const int count : {1, 2, 3, 7}) {
        const GraphColumns columns(layout, count);
        ASSERT_EQ(columns.count(), count);
        for (int column = 0; column + 1 < count; ++column)
            for (const Rect& item : layout.items) {
                const double cut = columns.part(column).bottom();
                EXPECT_FALSE(item.y < cut && cut < item.y + item.height) << count << " columns, at " << cut;
            }
        for (const Rect& item : layout.items) {
            const QRectF place(item.x, item.y, item.width, item.height), shown = columns.to_scene(place);
            EXPECT_EQ(columns.to_layout(shown.center()), place.center());
            EXPECT_TRUE(columns.bounds().contains(shown));
        }
    }
    EXPECT_EQ(columns_for({100, 200}, {800, 600}), 1) << "small enough as it is";
    EXPECT_GT(columns_for({300, 100000}, {1200, 800}), 8);
}

}  // namespace
}  // namespace rematlas::explorer
