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

    /// `remedy` is the title of a button that calls `act` and dismisses the message; empty: there is none.
    void show_message(const QString& message, const QString& remedy = {}, std::function<void()> act = {});
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
    std::vector<Told> history_;
};

}  // namespace rematlas::explorer
