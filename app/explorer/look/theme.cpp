#include "app/explorer/look/theme.h"

#include <QApplication>
#include <QHeaderView>
#include <QPainter>
#include <QPalette>
#include <QPixmap>

#include "app/explorer/look/qt_canvas.h"
#include "viz/paint/palette.h"

/// The icons lie in a static library, whose resources have to be asked for; the macro wants no namespace
/// around it.
static void load_icons() {
    Q_INIT_RESOURCE(explorer);
}

namespace rematlas::explorer::theme {
namespace {

const char* const style_sheet = R"(
QToolTip { background: #ffffff; color: #1d2733; border: 1px solid #c9d2dc; padding: 4px; }
QMainWindow::separator { background: #dbe1e8; width: 1px; height: 1px; margin: 2px; }
QMainWindow::separator:hover { background: #2458b8; }
QToolBar { background: #ffffff; border: none; border-bottom: 1px solid #dbe1e8; padding: 4px 8px; spacing: 4px; }
QToolBar::separator { background: #dbe1e8; width: 1px; margin: 5px 6px; }
QToolButton { border: 1px solid transparent; border-radius: 5px; padding: 4px 7px; }
QToolButton:hover { background: #eaf0f9; }
QToolButton:pressed, QToolButton:checked { background: #d9e5f7; }
QToolButton[boxed="true"] { background: #ffffff; border: 1px solid #c9d2dc; padding: 5px 10px; }
QToolButton::menu-indicator { image: none; width: 0; }
QMenuBar { background: #ffffff; }
QMenuBar::item { padding: 5px 10px; border-radius: 4px; background: transparent; }
QMenuBar::item:selected { background: #eaf0f9; color: #1d2733; }
QDockWidget { font-weight: 600; color: #1d2733; }
QDockWidget::title { background: #f4f6f9; padding: 7px 12px; border-bottom: 1px solid #dbe1e8; }
QDockWidget > QWidget { font-weight: 400; }
QHeaderView::section { background: #f4f6f9; color: #5b697b; border: none; border-bottom: 1px solid #dbe1e8;
                       border-right: 1px solid #e8ecf1; padding: 5px 7px; }
QTreeView { border: none; outline: none; }
QTreeView::item { padding: 3px 2px; border: none; }
QTreeView::item:selected { background: #d9e5f7; color: #1d2733; }
QTreeView::item:hover:!selected { background: #f1f5fb; }
QLineEdit, QSpinBox, QDoubleSpinBox, QComboBox, QPlainTextEdit { background: #ffffff; border: 1px solid #c9d2dc;
    border-radius: 5px; padding: 4px 7px; min-height: 19px; selection-background-color: #2458b8; }
QLineEdit:focus, QSpinBox:focus, QDoubleSpinBox:focus, QComboBox:focus, QPlainTextEdit:focus { border-color: #2458b8; }
QLineEdit[invalid="true"] { border-color: #b42318; background: #fff6f5; }
QComboBox::drop-down { border: none; width: 20px; }
QComboBox::down-arrow { image: url(:/icons/chevron.svg); width: 12px; height: 12px; }
QSpinBox::up-button, QSpinBox::down-button, QDoubleSpinBox::up-button, QDoubleSpinBox::down-button { width: 0; border: none; }
QPushButton { background: #ffffff; border: 1px solid #c9d2dc; border-radius: 5px; padding: 5px 14px; min-height: 19px; }
QPushButton:hover { background: #f1f5fb; border-color: #9db4d8; }
QPushButton:pressed { background: #d9e5f7; }
QPushButton:disabled { color: #9aa7b6; background: #f4f6f9; }
QPushButton[primary="true"] { background: #2458b8; border-color: #2458b8; color: #ffffff; font-weight: 600; }
QPushButton[primary="true"]:hover { background: #1d4a9e; }
QPushButton[primary="true"]:disabled { background: #a9bfe2; border-color: #a9bfe2; color: #ffffff; }
QProgressBar { background: #e8ecf1; border: none; border-radius: 3px; max-height: 6px; min-height: 6px; }
QProgressBar::chunk { background: #2458b8; border-radius: 3px; }
QSlider::groove:horizontal { height: 4px; background: #dbe1e8; border-radius: 2px; }
QSlider::sub-page:horizontal { background: #2458b8; border-radius: 2px; }
QSlider::sub-page:horizontal:disabled { background: #c9d2dc; }
QSlider::handle:horizontal { width: 14px; height: 14px; margin: -6px 0; border-radius: 8px; background: #ffffff; border: 2px solid #2458b8; }
QSlider::handle:horizontal:disabled { border-color: #c9d2dc; }
QStatusBar { background: #ffffff; border-top: 1px solid #dbe1e8; }
QStatusBar::item { border: none; }
QScrollBar:vertical { background: transparent; width: 11px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 11px; margin: 0; }
QScrollBar::handle { background: #cdd5de; border-radius: 4px; margin: 2px; min-width: 28px; min-height: 28px; }
QScrollBar::handle:hover { background: #aab6c4; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QTabBar::tab { padding: 6px 14px; background: #f4f6f9; border: none; border-bottom: 2px solid transparent; color: #5b697b; }
QTabBar::tab:selected { background: #ffffff; border-bottom-color: #2458b8; color: #1d2733; }
QTextBrowser { border: none; background: #ffffff; }
)";

QPalette light_palette() {
    QPalette palette;
    palette.setColor(QPalette::Window, panel);
    palette.setColor(QPalette::WindowText, ink);
    palette.setColor(QPalette::Base, base);
    palette.setColor(QPalette::AlternateBase, QColor(0xfa, 0xfb, 0xfc));
    palette.setColor(QPalette::Text, ink);
    palette.setColor(QPalette::Button, panel);
    palette.setColor(QPalette::ButtonText, ink);
    palette.setColor(QPalette::BrightText, base);
    palette.setColor(QPalette::ToolTipBase, base);
    palette.setColor(QPalette::ToolTipText, ink);
    palette.setColor(QPalette::Highlight, accent);
    palette.setColor(QPalette::HighlightedText, base);
    palette.setColor(QPalette::Link, accent);
    palette.setColor(QPalette::PlaceholderText, faint);
    for (QPalette::ColorRole role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
        palette.setColor(QPalette::Disabled, role, faint);
    }
    return palette;
}

}  // namespace

QColor of(Decision decision) {
    return to_qt(palette::of(decision));
}

QColor of(Phase phase) {
    return to_qt(palette::of(phase));
}

QIcon icon(const QString& name) {
    return QIcon(QStringLiteral(":/icons/%1.svg").arg(name));
}

QIcon dot(const QColor& color) {
    QIcon icon;
    for (int scale : {1, 2}) {
        QPixmap pixmap(12 * scale, 12 * scale);
        pixmap.fill(Qt::transparent);
        QPainter painter(&pixmap);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(Qt::NoPen);
        painter.setBrush(color);
        painter.drawEllipse(QRectF(1.5 * scale, 1.5 * scale, 9 * scale, 9 * scale));
        pixmap.setDevicePixelRatio(scale);
        for (QIcon::Mode mode : {QIcon::Normal, QIcon::Selected})
            icon.addPixmap(pixmap, mode);  // the dot is data: no tint
    }
    return icon;
}

void apply(QApplication& app) {
    load_icons();
    app.setStyle("Fusion");
    app.setPalette(light_palette());
    QFont font = app.font();
    font.setPixelSize(13);
    app.setFont(font);
    app.setStyleSheet(style_sheet);
}

QTreeView* sortable_list(QSortFilterProxyModel& model, std::initializer_list<int> widths) {
    auto* list = new QTreeView;
    list->setModel(&model);
    list->setRootIsDecorated(false);
    list->setUniformRowHeights(true);
    list->setSortingEnabled(true);
    list->setAllColumnsShowFocus(true);
    list->header()->setSortIndicator(-1, Qt::AscendingOrder);
    model.sort(-1);
    int column = 0;
    for (const int width : widths) list->setColumnWidth(column++, width);
    return list;
}

QLabel* quiet_label(const QString& text, bool wrap) {
    auto* label = new QLabel(text);
    label->setWordWrap(wrap);
    QPalette palette = label->palette();
    palette.setColor(QPalette::WindowText, muted);
    label->setPalette(palette);
    return label;
}

QLabel* heading(const QString& text) {
    auto* label = new QLabel(text);
    QFont font = label->font();
    font.setPixelSize(15);
    font.setWeight(QFont::DemiBold);
    label->setFont(font);
    return label;
}

}  // namespace rematlas::explorer::theme
