// The middle of the window: shows the graph view, or a notice that the layout runs or has failed.
#pragma once

#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QWidget>

#include "app/explorer/graph/graph_view.h"

namespace rematlas::explorer {

class GraphPage : public QWidget {
    Q_OBJECT
  public:
    explicit GraphPage(Session& session);
    GraphView& view() { return *view_; }

  protected:
    void resizeEvent(QResizeEvent* event) override;

  private:
    void show_notice(const QString& message, bool working);
    void place_notice();

    Session& session_;
    GraphView* view_;
    QWidget* notice_;
    QLabel* message_;
    QProgressBar* bar_;
    QPushButton* cancel_;
};

}  // namespace rematlas::explorer
