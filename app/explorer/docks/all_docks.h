// All docks, in the order of the View menu. CONTRIBUTING.md says how to add a dock.
#pragma once

#include <QMenu>
#include <QWidget>
#include <span>

#include "app/explorer/look/picture_or_table.h"
#include "app/explorer/session/session.h"

namespace rematlas::explorer {

struct DockEntry {
    const char* id;        ///< a word in lower case, used in saved layouts and by `--dock`
    const char* title;     ///< in English, translated when it is shown
    const char* tip;       ///< in English, translated when it is shown
    const char* shortcut;  ///< the keys that move the focus to the dock
    Qt::DockWidgetArea area;
    QWidget* (*make)(Session& session);
    /// Joins a painted widget with a table of the same data. The pointer is null if the dock's widget is not
    /// painted.
    PictureOrTable* (*with_table)(Session& session, QWidget* picture) = nullptr;
    /// Adds the dock's actions to the Plan menu and returns the actions that need a graph. The pointer is
    /// null if the dock has no actions.
    QList<QAction*> (*add_actions)(QWidget& dock, QMenu& menu) = nullptr;
};

std::span<const DockEntry> all_docks();

}  // namespace rematlas::explorer
