// Shows time against memory, with a curve for each solver and each kind of copies to the host. A click on a
// point shows the schedule of the point. Sweeps run in the background.
#pragma once

#include <QLabel>
#include <QMenu>
#include <QProgressBar>
#include <QPushButton>
#include <QSpinBox>
#include <QStackedWidget>
#include <QToolButton>
#include <QWidget>
#include <vector>

#include "app/explorer/docks/sweep_plot.h"
#include "app/explorer/session/session.h"

namespace rematlas::explorer {

class TradeoffView : public QWidget {
    Q_OBJECT
  public:
    explicit TradeoffView(Session& session);

    void start_sweep();
    std::vector<std::string> chosen_solvers() const;
    std::vector<Copies> chosen_copies() const;
    /// Called for a click at a place of the plot. Shows the schedule of the nearest point. Returns false if
    /// no point is within a click's reach.
    void load_point_at(const QPointF& position);

  private:
    QWidget* make_controls();
    void refresh();
    void show_running(bool running);

    Session& session_;
    SweepPlot* plot_;
    QLabel* hint_;
    QStackedWidget* stack_;  ///< shows the plot, or a hint on how to begin
    QMenu *solvers_, *copies_;
    QToolButton *solvers_button_, *copies_button_;
    QSpinBox *points_, *seconds_;
    QPushButton *start_, *stop_;
    QProgressBar* progress_;
};

}  // namespace rematlas::explorer
