// The whole ladder as one graphics item with its own index: painting costs what is on the screen.
#pragma once

#include <QGraphicsItem>
#include <QPainterPath>
#include <unordered_map>
#include <vector>

#include "app/explorer/session/ladder_controller.h"

namespace rematlas::explorer {

enum class Coloring { decision, phase };

/// What lies under a point; at most one is valid.
struct GraphHit {
    int item = -1;
    int cluster = -1;  ///< its title, or empty room inside its frame
    bool title = false;
};

class GraphLayer : public QGraphicsItem {
  public:
    QRectF boundingRect() const override { return bounds_; }
    void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;

    void set_ladder(LadderPtr ladder);
    const LadderPtr& ladder() const { return ladder_; }
    void set_coloring(Coloring coloring);
    Coloring coloring() const { return coloring_; }
    /// `with_schedule`: decisions are known; else the decision colours say nothing and the phase is shown.
    void set_has_schedule(bool with_schedule);
    /// Marked items get a frame; a marked cluster too. `running` is the item whose op runs at the cursor, -1
    /// for none.
    void set_marked(std::vector<int> items, int cluster);
    void set_running(int item);
    /// For pictures: all details at any zoom.
    void set_full_detail(bool full) { full_detail_ = full; }

    GraphHit hit(const QPointF& point) const;
    QRectF item_rect(int item) const;
    QRectF cluster_rect(int cluster) const;
    QRectF marked_rect() const;
    const std::vector<int>& marked() const { return marked_; }
    QColor color_of(const BlockViewItem& item) const;

  private:
    void build_index();
    std::vector<int> items_in(const QRectF& rect) const;
    void paint_clusters(QPainter& painter, const QRectF& exposed, double detail) const;
    void paint_edges(QPainter& painter, const QRectF& exposed, double detail) const;
    void paint_item(QPainter& painter, int item, double detail) const;
    void paint_shares(QPainter& painter, const BlockViewItem& item, const QRectF& rect) const;
    void paint_labels(QPainter& painter, const BlockViewItem& item, const QRectF& rect, double detail) const;
    void paint_arrow(QPainter& painter, const std::vector<Point>& spline) const;

    LadderPtr ladder_;
    QRectF bounds_;
    Coloring coloring_ = Coloring::decision;
    bool has_schedule_ = false, full_detail_ = false;
    std::vector<int> marked_;
    int marked_cluster_ = -1, running_ = -1;
    std::vector<QPainterPath> paths_;
    std::vector<QRectF> path_bounds_;
    std::unordered_map<qint64, std::vector<int>> cells_;  ///< items by square of `cell` points
    std::vector<std::vector<int>> edges_of_;              ///< edge indices by item
};

}  // namespace rematlas::explorer
