// All docks, in the order of the View menu: a new one is a widget in this folder and an entry here.
#pragma once

#include <QMenu>
#include <QWidget>
#include <span>

#include "app/explorer/look/picture_or_table.h"
#include "app/explorer/session/session.h"

namespace rematlas::explorer {

struct DockEntry {
    const char* id;        ///< for saved layouts and `--dock`: a word in lower case
    const char* title;     ///< not yet translated
    const char* tip;       ///< the same
    const char* shortcut;  ///< goes to it
    Qt::DockWidgetArea area;
    QWidget* (*make)(Session& session);
    /// Puts the widget, when it is painted, together with a table of the same; null: it is no picture.
    PictureOrTable* (*with_table)(Session& session, QWidget* picture) = nullptr;
    /// Adds what it can do to the Plan menu and returns what needs a graph for it; null: nothing.
    QList<QAction*> (*add_actions)(QWidget& dock, QMenu& menu) = nullptr;
};

std::span<const DockEntry> all_docks();

}  // namespace rematlas::explorer
