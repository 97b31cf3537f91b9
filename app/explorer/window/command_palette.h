// A list of everything that the window can do and show, which a user searches by a few letters (Ctrl+K).
#pragma once

#include <QDialog>
#include <QLineEdit>
#include <QListWidget>
#include <functional>
#include <vector>

namespace rematlas::explorer {

struct Command {
    QString name;   ///< the text in which letters are searched
    QString place;  ///< menu or kind of the command, and its keys; shown beside the name
    std::function<void()> run;
};

class CommandPalette : public QDialog {
    Q_OBJECT
  public:
    /// The commands are shown in the given order until something is typed.
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
