// Shows why the plan keeps or recomputes the selected block or op, what the other decision would cost, and
// the pins.
#pragma once

#include <QLabel>
#include <QPushButton>
#include <QWidget>

#include "app/explorer/session/session.h"

namespace rematlas::explorer {

class WhyPanel : public QWidget {
    Q_OBJECT
  public:
    explicit WhyPanel(Session& session);

    void pin(PinKind kind);  ///< pins the selected block or op
    void unpin();

  protected:
    void showEvent(QShowEvent* event) override;

  private:
    void refresh();

    Session& session_;
    QLabel* text_;
    QPushButton *keep_, *recompute_, *none_;
};

/// Returns the panel's content as HTML; `schedule` may be null.
QString why_html(const LoadedGraph& graph, const LoadedSchedule* schedule, const Selected& selected,
                 std::optional<PinKind> pinned);

}  // namespace rematlas::explorer
