// What went wrong, above the graph until it is dismissed; earlier messages stay to be read.
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

    /// What a message is about. It goes when that has gone well.
    enum class About { opening, solving, sweeping, keeping_plans, exporting, graph_file };
    /// `remedy` is the title of a button that calls `act` and dismisses the message; empty: there is none.
    void show_message(About about, const QString& message, const QString& remedy = {},
                      std::function<void()> act = {});
    /// What the message is about has gone well, or is asked anew; a message about something else stays.
    void settle(About about);
    void dismiss();
    /// A box with all messages of this window, the last first.
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
    About about_ = About::opening;  ///< of the message that is shown
    std::vector<Told> history_;
};

}  // namespace rematlas::explorer
