// Shows the ladder graph. Zoom with the wheel, pan by dragging, expand and collapse by double click.
#pragma once

#include <QGraphicsView>

#include "app/explorer/graph/graph_layer.h"
#include "app/explorer/models/item_heat.h"
#include "app/explorer/session/session.h"

namespace rematlas::explorer {

class GraphMinimap;

class GraphView : public QGraphicsView {
    Q_OBJECT
  public:
    explicit GraphView(Session& session);

    void set_coloring(ItemColors colors);
    const GraphLayer& layer() const { return *layer_; }
    void fit_width();
    void fit_all();
    void center_selection();
    void zoom(double factor);
    QSizeF whole_size() const { return layer_->boundingRect().size(); }
    /// Moves the selection from the selected item to another item: along its first edge within the forward or
    /// the backward side (+1), back along such an edge (-1), or to its twin (0). If several items are
    /// selected, selects the first of them. If no item is selected, selects the first item of the ladder.
    void walk(int direction);

  signals:
    void zoomed();

  protected:
    void wheelEvent(QWheelEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void drawBackground(QPainter* painter, const QRectF& rect) override;
    void drawForeground(QPainter* painter, const QRectF& rect) override;
    bool viewportEvent(QEvent* event) override;
    void scrollContentsBy(int dx, int dy) override;

  private:
    void make_keys();
    void select_item(int index);
    void show_ladder();
    void show_notes();
    void show_colors();
    void show_columns(int count);
    void show_selection();
    void select_at(const QPoint& position);
    GraphHit hit_at(const QPoint& position) const;
    BlockId block_at(const QPoint& position, QRectF* place = nullptr) const;
    void anchor_at(BlockId block, const QRectF& place);
    void keep_in_place(const Selected& anchor, const QPointF& viewport_position);

    Session& session_;
    GraphLayer* layer_;
    GraphMinimap* minimap_;
    ItemColors colors_ = ItemColors::decision;
    ItemHeat heat_;
    double legend_height_ = 0;  ///< height in pixels when the legend was last drawn
    QPoint press_;
    bool panning_ = false;
    bool first_ = true;  ///< whether the next ladder is the first one of its graph; then the view fits the
                         ///< ladder's width
    Selected anchor_;    ///< the block that stays in place on the screen when blocks expand or collapse
    QPointF anchor_position_;
};

}  // namespace rematlas::explorer
