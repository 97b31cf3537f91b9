// A window that follows a training run's file while training goes on. It shows the peak and the time of each
// step, the budget, the peaks that plans predicted, and why the original ran steps.
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

    /// Reads the file and follows it. Emits `failed` if no step could be read; the window itself shows what
    /// is wrong with later lines.
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
