// Why the plan keeps or recomputes what is selected, what the other decision would cost now, and the pins.
#pragma once

#include <QLabel>
#include <QPushButton>
#include <QWidget>

#include "app/explorer/session/session.h"

namespace rematlas::explorer {

class WhyPanel : public QWidget {
    Q_OBJECT
  public:
    explicit WhyPanel(Session& session, QWidget* parent = nullptr);

    void pin(PinKind kind);  ///< what is selected
    void unpin();

  protected:
    void showEvent(QShowEvent* event) override;

  private:
    void refresh();
    QPushButton* add_button(const QString& title, const char* name);

    Session& session_;
    QLabel* text_;
    QPushButton *keep_, *recompute_, *none_;
};

/// The panel's content as HTML; `schedule` may be null.
QString why_html(const LoadedGraph& graph, const LoadedSchedule* schedule, const Selected& selected,
                 std::optional<PinKind> pinned);

}  // namespace rematlas::explorer
