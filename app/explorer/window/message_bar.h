// A bar above the graph that shows an error until the user dismisses it. Earlier messages can be read in a
// dialog.
#pragma once

#include <QDateTime>
#include <QLabel>
#include <QPushButton>
#include <QToolButton>
#include <QWidget>
#include <functional>
#include <vector>

namespace rematlas::explorer {

class MessageBar : public QWidget {
    Q_OBJECT
  public:
    MessageBar();

    /// Says which action a message is about. When an action succeeds, the message about it is removed.
    enum class About { opening, solving, sweeping, keeping_plans, exporting, graph_file };
    /// Shows a message. `remedy`: the title of a button that calls `act` and dismisses the message; no button
    /// if it is empty.
    void show_message(About about, const QString& message, const QString& remedy = {},
                      std::function<void()> act = {});
    /// Must be called when an action has succeeded or is tried again. Removes the shown message if it is
    /// about this action.
    void settle(About about);
    void dismiss();
    /// Shows a dialog with the latest messages of this window, the newest first.
    void show_history();

    struct Told {
        QDateTime when;
        QString message;
    };
    const std::vector<Told>& history() const { return history_; }

  private:
    QLabel* words_;
    QPushButton* remedy_;
    QToolButton *earlier_, *dismiss_;
    std::function<void()> act_;
    About about_ = About::opening;  ///< what the shown message is about
    std::vector<Told> history_;
};

}  // namespace rematlas::explorer
