// Colours, spacing and style of the application, in one place for all views.
#pragma once

#include <QColor>
#include <QIcon>
#include <QLabel>
#include <QSortFilterProxyModel>
#include <QString>
#include <QToolButton>
#include <QTreeView>
#include <QVBoxLayout>
#include <functional>
#include <initializer_list>

#include "core/graph/graph.h"
#include "viz/block_view/block_view.h"
#include "viz/paint/palette.h"

class QApplication;

namespace rematlas::explorer::theme {

/// Says who chooses between light and dark: the desktop's palette or the user.
enum class Choice { system, light, dark };

/// Colours of the current theme. Their values change when the theme changes.
extern const QColor &ink, &muted, &faint, &line, &panel, &base, &accent, &danger, &good, &icon_color,
    &on_accent;

/// The colours of painted views.
const palette::Paper& paper();

/// While an object of this class lives, painted views are drawn in the colours of white paper, like picture
/// files.
class WhitePaper {
  public:
    WhitePaper();
    ~WhitePaper();
    WhitePaper(const WhitePaper&) = delete;
    WhitePaper& operator=(const WhitePaper&) = delete;

  private:
    const palette::Paper* before_;
};

inline constexpr int gap = 8;           ///< pixels between widgets of a group
inline constexpr int margin = 12;       ///< pixels around a panel's content
inline constexpr int tab_padding = 10;  ///< pixels on either side of a tab's title
/// The smallest height (pixels) of a list that shares its panel with other widgets.
inline constexpr int least_list = 72;

QColor of(Decision decision);
QColor of(Phase phase);
QColor text_of(Decision decision);  ///< the colour of the decision, made readable as text

QIcon icon(const QString& name);
/// A filled dot, for legends and rows.
QIcon dot(const QColor& color);

/// Sets the Fusion style with our colours, and makes tooltips plain text. Must be called once, before the
/// first widget is made.
void apply(QApplication& app, Choice choice = Choice::light);
void choose(Choice choice);
Choice chosen();
bool is_dark();
/// Says whether the palette's text is brighter than its background.
bool is_dark(const QPalette& palette);
/// Calls `react` after each change of the theme while `context` lives. Cached pictures, and texts that
/// contain colours, need this. Widgets that use the palette or the style sheet change by themselves.
void on_change(QObject* context, std::function<void()> react);

/// Returns a view that shows the model's rows as a flat list, in the model's order until the user clicks a
/// column's header. `widths`: the widths of the columns.
QTreeView* sortable_list(QSortFilterProxyModel& model, std::initializer_list<int> widths);

/// Returns a layout of the widget without margins and spaces, in which rows are added from top to bottom.
QVBoxLayout* plain_column(QWidget* widget);
/// Returns a widget in which `first` has three fifths of the space and `second` the rest. The user can move
/// the line between them, but can hide neither.
QWidget* split(Qt::Orientation orientation, QWidget* first, QWidget* second);

/// Gives a widget the background of views.
void set_on_page(QWidget& widget);
/// Returns a label that shows its text as plain text, even if it looks like HTML. The functions below
/// also return such labels.
QLabel* plain_label(const QString& text = {});
/// Returns a label in the colour of less important text. If `wrap`, its lines are wrapped.
QLabel* quiet_label(const QString& text, bool wrap = false);
/// Returns a label for error messages, with wrapped lines.
QLabel* danger_label();
QLabel* heading(const QString& text);
/// Returns a button for panels and dialogs that has a frame.
QToolButton* boxed_button(const QString& text = {}, const QString& tip = {});

}  // namespace rematlas::explorer::theme
