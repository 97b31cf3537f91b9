// Time against memory: a curve a solver, a click on a point loads that schedule. Sweeps run in the
// background.
#pragma once

#include <QLabel>
#include <QMenu>
#include <QProgressBar>
#include <QPushButton>
#include <QSpinBox>
#include <QStackedWidget>
#include <QToolButton>
#include <QWidget>
#include <map>
#include <vector>

#include "app/explorer/session/session.h"

class QCustomPlot;
class QCPGraph;
class QCPItemTracer;
class QCPItemStraightLine;

namespace rematlas::explorer {

class TradeoffView : public QWidget {
    Q_OBJECT
  public:
    explicit TradeoffView(Session& session, QWidget* parent = nullptr);

    void start_sweep();
    std::vector<std::string> chosen_solvers() const;
    /// What a click at a place of the plot does: the nearest point within reach is loaded. False when there
    /// is none.
    bool load_point_at(const QPointF& position);

  private:
    struct Shown {
        std::string solver;
        SweepPoint point;
        double x = 0, y = 0;
    };
    QWidget* make_controls();
    void make_plot();
    void refresh();
    void refresh_marker();
    void show_running(bool running);
    const Shown* nearest(const QPointF& position) const;

    Session& session_;
    QCustomPlot* plot_;
    QCPGraph* marker_ = nullptr;
    QCPItemStraightLine* budget_line_ = nullptr;
    QLabel* hint_;
    QStackedWidget* stack_;  ///< the hint, or the plot
    QMenu* solvers_;
    QToolButton* solvers_button_;
    QSpinBox *points_, *seconds_;
    QPushButton *start_, *stop_;
    QProgressBar* progress_;
    std::vector<Shown> shown_;
    double unit_ = 1;  ///< bytes a unit of the x axis
};

}  // namespace rematlas::explorer
