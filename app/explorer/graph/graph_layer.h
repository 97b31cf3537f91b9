// Shows the whole ladder as one graphics item. Finds the items at a place by an index, so that the cost of
// painting depends only on the part on the screen.
#pragma once

#include <QGraphicsItem>
#include <unordered_map>
#include <vector>

#include "app/explorer/graph/graph_columns.h"
#include "app/explorer/jobs/ladder_controller.h"
#include "viz/paint/blocks_painter.h"

namespace rematlas::explorer {

/// Says what is under a point. At most one of `item`, `cluster` and `edge` is set; the other two are -1.
struct GraphHit {
    int item = -1;
    int cluster = -1;  ///< the frame whose title or empty inside is under the point
    bool title = false;
    int edge = -1;
};

class GraphLayer : public QGraphicsItem {
  public:
    QRectF boundingRect() const override { return columns_.bounds(); }
    void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;

    void set_ladder(LadderPtr ladder);
    /// Sets the number of columns in which the ladder is shown. Points and rectangles of the public functions
    /// below are in scene coordinates.
    void set_columns(int count);
    const GraphColumns& columns() const { return columns_; }
    const LadderPtr& ladder() const { return ladder_; }
    /// `heat`: one number per item of the ladder, for `Coloring::heat`.
    void set_coloring(Coloring coloring, std::vector<double> heat = {});
    Coloring coloring() const { return coloring_; }
    /// `with_schedule`: whether there is a schedule. Without a schedule, `Coloring::decision` shows phases.
    void set_has_schedule(bool with_schedule);
    bool has_schedule() const { return has_schedule_; }
    /// Outlines the items, and the frame `cluster` unless it is -1.
    void set_marked(std::vector<int> items, int cluster);
    void set_running(int item);
    /// Marks the selected arrow; marks no arrow if `edge` is -1.
    void set_marked_edge(int edge);
    int marked_edge() const { return marked_edge_; }
    /// `notes`: one note for each item of the ladder.
    void set_notes(std::vector<ItemNote> notes);

    /// Returns the item, frame or arrow at the point. `reach`: the largest distance from which an arrow is
    /// hit, in scene coordinates.
    GraphHit hit(const QPointF& point, double reach = 4) const;
    QRectF item_rect(int item) const;
    /// Returns the items that are at least partly in the rectangle.
    std::vector<int> items_in(const QRectF& rect) const;
    QRectF cluster_rect(int cluster) const;
    QRectF marked_rect() const;
    const std::vector<int>& marked() const { return marked_; }

  private:
    void build_index();
    // The following functions use layout coordinates:
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
    bool has_schedule_ = false;
    std::vector<int> marked_;
    std::vector<ItemNote> notes_;
    int marked_cluster_ = -1, marked_edge_ = -1, running_ = -1;
    std::vector<QRectF> edge_bounds_;
    std::vector<int> edge_order_;  ///< edges, sorted by `edges_by_weight`
    /// For each square of a grid, `cell` points wide: the items that touch it
    std::unordered_map<qint64, std::vector<int>> cells_;
};

}  // namespace rematlas::explorer
