// What the window shows of a graph of thousands of ops without modules.
#include <QGraphicsScene>

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
    /// Items of the picture that lie at least in part in the part of the graph that is seen.
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

}  // namespace
}  // namespace rematlas::explorer
