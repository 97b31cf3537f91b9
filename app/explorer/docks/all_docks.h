// All docks, in the order of the View menu. A new dock is a widget in this folder and an entry here.
#pragma once

#include <QMenu>
#include <QWidget>
#include <span>

#include "app/explorer/look/picture_or_table.h"
#include "app/explorer/session/session.h"

namespace rematlas::explorer {

struct DockEntry {
    const char* id;        ///< a word in lower case, for saved layouts and `--dock`
    const char* title;     ///< in English, translated when it is shown
    const char* tip;       ///< in English, translated when it is shown
    const char* shortcut;  ///< the keys that go to the dock
    Qt::DockWidgetArea area;
    QWidget* (*make)(Session& session);
    /// Joins a painted widget with a table of the same data; null: the widget is not painted.
    PictureOrTable* (*with_table)(Session& session, QWidget* picture) = nullptr;
    /// Adds the dock's actions to the Plan menu and returns those that need a graph; null: the dock has none.
    QList<QAction*> (*add_actions)(QWidget& dock, QMenu& menu) = nullptr;
};

std::span<const DockEntry> all_docks();

}  // namespace rematlas::explorer
