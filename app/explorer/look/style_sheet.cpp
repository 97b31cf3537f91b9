#include <utility>

#include "app/explorer/look/shades.h"
#include "app/explorer/look/theme.h"

namespace rematlas::explorer::theme {
namespace {

/// The style sheet with names in place of colours: `@name` stands for the colour `name` of the shades.
const char* const template_sheet = R"(
QToolTip { background: @base; color: @ink; border: 1px solid @border; padding: 4px; }
QLabel[quiet="true"] { color: @muted; }
QLabel[danger="true"] { color: @danger; }
QWidget[page="true"] { background: @base; }
#notice { background: @base; border: 1px solid @border; border-radius: 8px; }
#command_palette { background: @panel; border: 1px solid @border; }
QDialogButtonBox { dialogbuttonbox-buttons-have-icons: 0; }
#focus_frame { border: 2px solid @accent; background: transparent; }
#message_bar { background: @danger_ground; border-bottom: 1px solid @line; }
QMainWindow::separator { background: @line; width: 1px; height: 1px; margin: 2px; }
QMainWindow::separator:hover { background: @accent; }
QToolBar { background: @base; border: none; border-bottom: 1px solid @line; padding: 2px 8px; spacing: 4px; }
QToolBar::separator { background: @line; width: 1px; margin: 5px 6px; }
QToolButton { border: 1px solid transparent; border-radius: 5px; padding: 4px 7px; }
QToolButton:hover { background: @hover; }
QToolButton:focus { border-color: @accent; }
QToolButton:pressed, QToolButton:checked { background: @pressed; }
QToolButton#as_table { padding: 1px; background: @panel; border: 1px solid @line; }
QToolButton#as_table:focus { border-color: @accent; }
QToolButton#as_table:checked { background: @pressed; }
QToolButton[boxed="true"] { background: @base; border: 1px solid @border; padding: 5px 10px; }
QToolButton[boxed="true"]:checked { background: @pressed; }
QToolButton[boxed="true"]:focus { border-color: @accent; }
QToolButton::menu-indicator { image: none; width: 0; }
QMenuBar { background: @base; }
QMenuBar::item { padding: 5px 10px; border-radius: 4px; background: transparent; }
QMenuBar::item:selected { background: @hover; color: @ink; }
QMenu { background: @base; color: @ink; border: 1px solid @border; padding: 4px 0; }
QMenu::item { padding: 5px 28px 5px 26px; }
QMenu::item:selected { background: @selected; color: @ink; }
QMenu::item:disabled { color: @faint; }
QMenu::separator { height: 1px; background: @line; margin: 4px 8px; }
QMenu::icon { padding-left: 6px; }
QDockWidget { font-weight: 600; color: @ink; }
QDockWidget::title { background: @panel; padding: 7px 12px; border-bottom: 1px solid @line; }
QDockWidget > QWidget { font-weight: 400; }
QHeaderView { background: @panel; }
QHeaderView::section { background: @panel; color: @muted; border: none; border-bottom: 1px solid @line;
                       border-right: 1px solid @groove; padding: 5px 7px; }
QTreeView { border: none; outline: none; background: @base; }
QTreeView::item { padding: 3px 2px; border: none; }
QTreeView::item:selected { background: @selected; color: @ink; }
QTreeView::item:hover:!selected { background: @hover; }
QListView::item { padding: 5px 4px; border-radius: 4px; }
QListView::item:selected { background: @selected; color: @ink; }
QListView::item:hover:!selected { background: @hover; }
QLineEdit, QSpinBox, QDoubleSpinBox, QComboBox, QPlainTextEdit { background: @base; border: 1px solid @border;
    border-radius: 5px; padding: 4px 7px; min-height: 19px; selection-background-color: @accent; selection-color: @on_accent; }
QLineEdit:focus, QSpinBox:focus, QDoubleSpinBox:focus, QComboBox:focus, QPlainTextEdit:focus { border-color: @accent; }
QLineEdit[invalid="true"] { border-color: @danger; background: @danger_ground; }
QComboBox::drop-down { border: none; width: 20px; }
QComboBox::down-arrow { image: url(:/icons/chevron.svg); width: 12px; height: 12px; }
QComboBox QAbstractItemView { background: @base; color: @ink; border: 1px solid @border;
    selection-background-color: @selected; selection-color: @ink; }
QSpinBox::up-button, QSpinBox::down-button, QDoubleSpinBox::up-button, QDoubleSpinBox::down-button { width: 0; border: none; }
QPushButton { background: @base; border: 1px solid @border; border-radius: 5px; padding: 5px 14px; min-height: 19px; }
QPushButton:hover { background: @hover; border-color: @accent; }
QPushButton:focus { border-color: @accent; }
QPushButton:pressed { background: @pressed; }
QPushButton:disabled { color: @faint; background: @panel; }
QPushButton[primary="true"] { background: @accent; border-color: @accent; color: @on_accent; font-weight: 600; }
QPushButton[primary="true"]:hover { background: @accent_hover; }
QPushButton[primary="true"]:focus { border-color: @ink; }
QPushButton[primary="true"]:disabled { background: @accent_off; border-color: @accent_off; color: @on_accent; }
QProgressBar { background: @groove; border: none; border-radius: 3px; max-height: 6px; min-height: 6px; }
QProgressBar::chunk { background: @accent; border-radius: 3px; }
QSlider::groove:horizontal { height: 4px; background: @line; border-radius: 2px; }
QSlider::sub-page:horizontal { background: @accent; border-radius: 2px; }
QSlider::sub-page:horizontal:disabled { background: @border; }
QSlider::handle:horizontal { width: 14px; height: 14px; margin: -6px 0; border-radius: 8px; background: @base; border: 2px solid @accent; }
QSlider::handle:horizontal:focus { background: @accent; }
QSlider::handle:horizontal:disabled { border-color: @border; }
QStatusBar { background: @base; border-top: 1px solid @line; }
QStatusBar::item { border: none; }
QScrollBar:vertical { background: transparent; width: 11px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 11px; margin: 0; }
QScrollBar::handle { background: @handle; border-radius: 4px; margin: 2px; min-width: 28px; min-height: 28px; }
QScrollBar::handle:hover { background: @faint; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QAbstractScrollArea::corner { background: @base; border: none; }
QTabBar { qproperty-drawBase: 0; }
QTabBar::tab { padding: 6px @tab_padding; background: @panel; border: none; border-bottom: 2px solid transparent; color: @muted; }
QTabBar::tab:selected { background: @base; border-bottom-color: @accent; color: @ink; }
QTextBrowser { border: none; background: @base; }
)";

}  // namespace

QString style_sheet_of(const Shades& s) {
    // `@accent_hover` must be replaced before `@accent`, because it begins with `@accent`. The same holds for
    // every name that begins with another name.
    const std::pair<const char*, QColor> names[] = {
        {"@accent_hover", s.accent_hover},
        {"@accent_off", s.accent_off},
        {"@accent", s.accent},
        {"@on_accent", s.on_accent},
        {"@danger_ground", s.danger_ground},
        {"@danger", s.danger},
        {"@ink", s.ink},
        {"@muted", s.muted},
        {"@faint", s.faint},
        {"@base", s.base},
        {"@panel", s.panel},
        {"@line", s.line},
        {"@border", s.border},
        {"@hover", s.hover},
        {"@pressed", s.pressed},
        {"@selected", s.selected},
        {"@groove", s.groove},
        {"@handle", s.handle},
    };
    QString sheet = QString::fromLatin1(template_sheet);
    sheet.replace(QLatin1String("@tab_padding"), QStringLiteral("%1px").arg(tab_padding));
    for (const auto& [name, color] : names) sheet.replace(QLatin1String(name), color.name());
    return sheet;
}

}  // namespace rematlas::explorer::theme
