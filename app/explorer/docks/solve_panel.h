// Has the fields for budget, solver and time limit. While a solver runs, shows the best schedule so far;
// afterwards shows the answer, or why there is no schedule.
#pragma once

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollArea>
#include <QSlider>
#include <QWidget>

#include "app/explorer/session/session.h"

namespace rematlas::explorer {

class CopiesBox;

class SolvePanel : public QWidget {
    Q_OBJECT
  public:
    explicit SolvePanel(Session& session);

    void solve();
    void focus_budget();

  private:
    QWidget* make_budget_fields();
    QWidget* make_solver_fields();
    QWidget* make_progress();
    void connect_budget();
    void connect_solver();
    void show_budget();
    void show_idle();
    void show_running();
    void show_improvement(double overhead, qint64 peak, double bound, double fraction);
    void show_schedule();
    void show_infeasible(const NoScheduleReport& report);
    void show_failure(const QString& html);
    QString short_name(const QString& name) const;
    void forget_failure();

    Session& session_;
    QScrollArea* scroll_;
    QLineEdit* budget_;
    QSlider* slider_;
    QLabel *share_, *smallest_, *full_, *budget_error_;
    QComboBox* solver_;
    CopiesBox* copies_;
    QDoubleSpinBox* time_;
    QPushButton *solve_, *best_so_far_, *cancel_;
    QProgressBar* progress_;
    QLabel *incumbent_, *answer_;
    QString failed_budget_;  ///< the budget of the failure message that is shown; empty if none is shown
    Pins failed_pins_;
};

}  // namespace rematlas::explorer
