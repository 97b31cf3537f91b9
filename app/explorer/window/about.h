// The dialogs of the Help menu.
#pragma once

#include <QString>
#include <QWidget>
#include <utility>
#include <vector>

namespace rematlas::explorer {

/// Shortcuts of one menu or one view.
struct ShortcutGroup {
    QString title;
    std::vector<std::pair<QString, QString>> rows;  ///< keys, and the action of these keys
};

void show_about(QWidget* parent);
void show_shortcuts(QWidget* parent, const std::vector<ShortcutGroup>& groups);

}  // namespace rematlas::explorer
