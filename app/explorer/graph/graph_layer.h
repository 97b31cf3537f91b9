// The whole ladder as one graphics item with its own index: painting costs what is on the screen.
#pragma once

#include <QGraphicsItem>
#include <unordered_map>
#include <vector>

#include "app/explorer/graph/graph_columns.h"
#include "app/explorer/jobs/ladder_controller.h"
#include "viz/paint/blocks_painter.h"

namespace rematlas::explorer {

/// What lies under a point; at most one is valid.
struct GraphHit {
    int item = -1;
    int cluster = -1;  ///< its title, or empty room inside its frame
    bool title = false;
    int edge = -1;
};

class GraphLayer : public QGraphicsItem {
  public:
    QRectF boundingRect() const override { return columns_.bounds(); }
    void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;

    void set_ladder(LadderPtr ladder);
    /// Side by side, from now on; points and rectangles of the functions below are of the scene.
    void set_columns(int count);
    const GraphColumns& columns() const { return columns_; }
    const LadderPtr& ladder() const { return ladder_; }
    /// `heat`: one an item of the ladder, for `Coloring::heat`.
    void set_coloring(Coloring coloring, std::vector<double> heat = {});
    Coloring coloring() const { return coloring_; }
    /// `with_schedule`: decisions are known; else the decision colours say nothing and the phase is shown.
    void set_has_schedule(bool with_schedule);
    bool has_schedule() const { return has_schedule_; }
    /// Marked items get a frame; a marked cluster too. `running` is the item whose op runs at the cursor, -1
    /// for none.
    void set_marked(std::vector<int> items, int cluster);
    void set_running(int item);
    /// An arrow that is selected; -1: none.
    void set_marked_edge(int edge);
    int marked_edge() const { return marked_edge_; }
    /// One an item of the ladder.
    void set_notes(std::vector<ItemNote> notes);
    /// For pictures: all details at any zoom.
    void set_full_detail(bool full) { full_detail_ = full; }

    /// `reach`: so many points beside an arrow are still on it.
    GraphHit hit(const QPointF& point, double reach = 4) const;
    QRectF item_rect(int item) const;
    /// Those that lie in the rectangle at least in part.
    std::vector<int> items_in(const QRectF& rect) const;
    QRectF cluster_rect(int cluster) const;
    QRectF marked_rect() const;
    const std::vector<int>& marked() const { return marked_; }

  private:
    void build_index();
    // Of the layout:
    void paint_place(QPainter& painter, const QRectF& place, double detail);
    QRectF item_place(int item) const;
    QRectF cluster_place(int cluster) const;
    std::vector<int> items_at(const QRectF& place) const;
    std::vector<int> edges_at(const QRectF& place) const;
    int edge_at(const QPointF& point, double reach) const;

    LadderPtr ladder_;
    GraphColumns columns_;
    int wanted_columns_ = 1;
    Coloring coloring_ = Coloring::decision;
    std::vector<double> heat_;
    bool has_schedule_ = false, full_detail_ = false;
    std::vector<int> marked_;
    std::vector<ItemNote> notes_;
    int marked_cluster_ = -1, marked_edge_ = -1, running_ = -1;
    std::vector<QRectF> edge_bounds_;
    std::vector<int> edge_order_;                         ///< `edges_by_weight`
    std::unordered_map<qint64, std::vector<int>> cells_;  ///< items by square of `cell` points
};

}  // namespace rematlas::explorer
