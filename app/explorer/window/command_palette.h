// Everything that the window can do and show, found by a few letters (Ctrl+K).
#pragma once

#include <QDialog>
#include <QLineEdit>
#include <QListWidget>
#include <functional>
#include <vector>

namespace rematlas::explorer {

struct Command {
    QString name;   ///< what is searched
    QString place;  ///< where it is from, or its keys: shown beside the name
    std::function<void()> run;
};

class CommandPalette : public QDialog {
    Q_OBJECT
  public:
    /// In the order in which they are shown while nothing is typed.
    explicit CommandPalette(std::vector<Command> commands, QWidget* parent = nullptr);

  protected:
    bool eventFilter(QObject* object, QEvent* event) override;

  private:
    void show_matches(const QString& typed);
    void run_current();

    std::vector<Command> commands_;
    QLineEdit* field_;
    QListWidget* list_;
};

}  // namespace rematlas::explorer
