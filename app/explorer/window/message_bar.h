// Shows an error above the graph until it is dismissed; earlier messages can still be read.
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
    explicit MessageBar(QWidget* parent = nullptr);

    /// The action that a message is about. When such an action succeeds, the message is removed.
    enum class About { opening, solving, sweeping, keeping_plans, exporting, graph_file };
    /// `remedy` is the title of a button that calls `act` and dismisses the message; empty: there is none.
    void show_message(About about, const QString& message, const QString& remedy = {},
                      std::function<void()> act = {});
    /// Called when such an action has succeeded or is tried again. A message about another action stays.
    void settle(About about);
    void dismiss();
    /// Shows a dialog with the messages of this window, the last first.
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
