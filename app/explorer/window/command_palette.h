// Finds everything that the window can do and show, by a few letters (Ctrl+K).
#pragma once

#include <QDialog>
#include <QLineEdit>
#include <QListWidget>
#include <functional>
#include <vector>

namespace rematlas::explorer {

struct Command {
    QString name;   ///< the text that is searched
    QString place;  ///< menu or kind, and keys; shown beside the name
    std::function<void()> run;
};

class CommandPalette : public QDialog {
    Q_OBJECT
  public:
    /// While nothing is typed, the commands are shown in the given order.
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
