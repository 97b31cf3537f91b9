// The one place that makes docks, so that all of them look and behave alike.
#pragma once

#include <QDockWidget>
#include <QMainWindow>
#include <QString>

namespace rematlas::explorer {

struct DockSpec {
    QString name;  ///< for saved layouts, `--dock` and menus: a word in lower case
    QString title;
    QWidget* widget = nullptr;
    Qt::DockWidgetArea area = Qt::LeftDockWidgetArea;
    QString tip;
};

/// The dock is a child of the window and in its area; it can be moved, floated and closed.
QDockWidget* add_dock(QMainWindow& window, const DockSpec& spec);

}  // namespace rematlas::explorer
