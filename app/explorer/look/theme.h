// Colours, spacing and the application's style, in one place for all views.
#pragma once

#include <QColor>
#include <QIcon>
#include <QLabel>
#include <QSortFilterProxyModel>
#include <QString>
#include <QTreeView>
#include <functional>
#include <initializer_list>

#include "core/graph/graph.h"
#include "viz/block_view/block_view.h"
#include "viz/paint/palette.h"

class QApplication;

namespace rematlas::explorer::theme {

/// What the window follows: the desktop's palette, or what the user says.
enum class Choice { system, light, dark };

/// Colours of the theme that is in use; they change with it.
extern const QColor &ink, &muted, &faint, &line, &panel, &base, &accent, &danger, &good, &icon_color,
    &on_accent;

/// What the painted views draw on.
const palette::Paper& paper();

/// While one lives, painted views draw on white paper, as for a file.
class WhitePaper {
  public:
    WhitePaper();
    ~WhitePaper();
    WhitePaper(const WhitePaper&) = delete;
    WhitePaper& operator=(const WhitePaper&) = delete;

  private:
    const palette::Paper* before_;
};

inline constexpr int gap = 8;           ///< between things of a group, pixels
inline constexpr int margin = 12;       ///< around a panel's content
inline constexpr int tab_padding = 10;  ///< on either side of a tab's words
inline constexpr int least_list = 72;   ///< height of a list beside which others need room

QColor of(Decision decision);
QColor of(Phase phase);
QColor text_of(Decision decision);  ///< the same as a colour of text

QIcon icon(const QString& name);
/// A filled dot, for legends and rows.
QIcon dot(const QColor& color);

/// Fusion style with our colours, and tips of plain text. Once, before there are widgets.
void apply(QApplication& app, Choice choice = Choice::light);
void choose(Choice choice);
Choice chosen();
bool is_dark();
/// Whether text is brighter than what it stands on.
bool is_dark(const QPalette& palette);
/// Calls `react` after each change of the theme, for as long as `context` lives: for texts that hold colours,
/// and for pictures that are kept. What follows the palette or the style sheet needs no call.
void on_change(QObject* context, std::function<void()> react);

/// Returns a list without a tree. Its rows have the order of the model until a column is clicked; its columns
/// are as wide as given.
QTreeView* sortable_list(QSortFilterProxyModel& model, std::initializer_list<int> widths);

/// Gives a widget the ground of views.
void set_on_page(QWidget& widget);
/// A label that shows its text as it is, also where the text looks like HTML. So do the labels below.
QLabel* plain_label(const QString& text = {});
/// A label in the quiet colour, wrapping when asked.
QLabel* quiet_label(const QString& text, bool wrap = false);
/// A label for what went wrong, wrapping.
QLabel* danger_label();
QLabel* heading(const QString& text);

}  // namespace rematlas::explorer::theme
