// A window that follows the file of a training run while the training goes on. It shows for each step its
// peak and its time, the budget, the peak that the plan predicted, and why the original module ran instead of
// a plan.
#pragma once

#include <QLabel>
#include <QTreeView>
#include <QWidget>

#include "app/explorer/files/followed_run.h"
#include "app/explorer/followed/followed_view.h"
#include "app/explorer/models/run_steps_table.h"
#include "core/planning/run_totals.h"

namespace rematlas::explorer {

class FollowedWindow : public QWidget {
    Q_OBJECT
  public:
    explicit FollowedWindow(const QString& path, QWidget* parent = nullptr);

    /// Reads the file and follows it. Emits `failed` if not even one step could be read. Later errors are
    /// shown in the window itself.
    void start() { run_.start(); }
    FollowedView& view() { return *view_; }
    const RunStepsTable& steps() const { return *steps_; }

  signals:
    void failed(const QString& message);

  private:
    QWidget* make_bar();
    void make_table();
    void begin_anew();
    void grow();
    void tell();
    void tell_failure(const QString& message);
    void show_cursor();

    FollowedRun run_;
    RunTotaller totaller_;
    FollowedView* view_;
    RunStepsTable* steps_;
    QTreeView* table_;
    QLabel *headline_, *last_, *reasons_, *failure_;
};

}  // namespace rematlas::explorer
