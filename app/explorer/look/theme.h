// Colours, spacing and the application's style, in one place for all views.
#pragma once

#include <QColor>
#include <QIcon>
#include <QLabel>
#include <QSortFilterProxyModel>
#include <QString>
#include <QTreeView>
#include <initializer_list>

#include "core/graph/graph.h"
#include "viz/block_view/block_view.h"

class QApplication;

namespace rematlas::explorer::theme {

inline const QColor ink{0x1d, 0x27, 0x33};
inline const QColor muted{0x5b, 0x69, 0x7b};
inline const QColor faint{0x9a, 0xa7, 0xb6};
inline const QColor line{0xdb, 0xe1, 0xe8};
inline const QColor panel{0xf4, 0xf6, 0xf9};
inline const QColor base{0xff, 0xff, 0xff};
inline const QColor accent{0x24, 0x58, 0xb8};
inline const QColor danger{0xb4, 0x23, 0x18};
inline const QColor good{0x1a, 0x7f, 0x4b};

inline constexpr int gap = 8;      ///< between things of a group, pixels
inline constexpr int margin = 12;  ///< around a panel's content

QColor of(Decision decision);
QColor of(Phase phase);

QIcon icon(const QString& name);
/// A filled dot, for legends and rows.
QIcon dot(const QColor& color);

/// Fusion style with our light palette.
void apply(QApplication& app);

/// A list without a tree, of rows in the order of the model until a column is clicked. Columns as wide as given.
QTreeView* sortable_list(QSortFilterProxyModel& model, std::initializer_list<int> widths);

/// A label in the quiet colour, wrapping when asked.
QLabel* quiet_label(const QString& text, bool wrap = false);
QLabel* heading(const QString& text);

}  // namespace rematlas::explorer::theme
