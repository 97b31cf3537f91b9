// Shows the whole graph in a corner of the graph view and marks the visible part. A click or a drag moves the
// view to that place.
#pragma once

#include <QPixmap>
#include <QWidget>

namespace rematlas::explorer {

class GraphView;

class GraphMinimap : public QWidget {
    Q_OBJECT
  public:
    explicit GraphMinimap(GraphView& view);

    void refresh();  ///< must be called when the graph or its colours have changed
    void place();    ///< must be called when the view was resized
    void follow();   ///< must be called when another part of the graph is in view

  protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;

  private:
    void go_to(const QPoint& position);
    QRectF bounds_of_graph() const;

    GraphView& view_;
    QPixmap picture_;
    QRectF bounds_;
    double scale_ = 1;
};

}  // namespace rematlas::explorer
