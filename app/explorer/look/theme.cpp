#include "app/explorer/look/theme.h"

#include <QApplication>
#include <QHeaderView>
#include <QPainter>
#include <QPalette>
#include <QPixmap>
#include <QPointer>
#include <QSplitter>
#include <QStyle>
#include <QTimer>
#include <utility>
#include <vector>

#include "app/explorer/look/qt_canvas.h"
#include "app/explorer/look/shades.h"
#include "app/explorer/look/themed_icon.h"

/// Loads the icons, which are in a static library. Qt does not load the resources of such a library by
/// itself. The macro must be used outside of namespaces.
static void load_icons() {
    Q_INIT_RESOURCE(explorer);
}

namespace rematlas::explorer::theme {
namespace {

Shades now = light_shades();
const palette::Paper* paper_now = &palette::kLight;
Choice choice_now = Choice::light;

/// Calls the listeners after changes of the theme, and watches the desktop's palette.
class Changes : public QObject {
  public:
    std::vector<std::pair<QPointer<QObject>, std::function<void()>>> listeners;

    void tell() {
        // Uses indices, because a listener can add listeners to the list.
        for (std::size_t i = 0; i < listeners.size(); ++i)
            if (listeners[i].first) listeners[i].second();
        std::erase_if(listeners, [](const auto& listener) { return !listener.first; });
    }
    /// When a desktop changes its palette, every widget gets an event. The theme is chosen again only once,
    /// after the last of these events.
    bool eventFilter(QObject*, QEvent* event) override {
        if (event->type() == QEvent::ThemeChange && choice_now == Choice::system && !asked_) {
            asked_ = true;
            QTimer::singleShot(0, this, [this] {
                asked_ = false;
                if (choice_now == Choice::system) choose(Choice::system);
            });
        }
        return false;
    }

  private:
    bool asked_ = false;
};

Changes* changes_of_theme = nullptr;

/// Says whether the desktop's own palette is dark. Removes the application's palette for this; `choose` sets
/// it again. If Qt then shows the style's standard palette, the desktop's palette is not known. In that case
/// returns the last known answer, or false if there is none.
bool system_is_dark() {
    static bool dark = false;
    QApplication::setPalette(QPalette());
    const QPalette system = QApplication::palette();
    const bool told =
        system.color(QPalette::Window) != qApp->style()->standardPalette().color(QPalette::Window);
    if (told) dark = is_dark(system);
    return dark;
}

}  // namespace

const QColor &ink = now.ink, &muted = now.muted, &faint = now.faint, &line = now.line, &panel = now.panel,
             &base = now.base, &accent = now.accent, &danger = now.danger, &good = now.good,
             &icon_color = now.icon, &on_accent = now.on_accent;

const palette::Paper& paper() {
    return *paper_now;
}

WhitePaper::WhitePaper() : before_(paper_now) {
    paper_now = &palette::kLight;
}

WhitePaper::~WhitePaper() {
    paper_now = before_;
}

bool is_dark(const QPalette& palette) {
    return palette.color(QPalette::WindowText).lightness() > palette.color(QPalette::Window).lightness();
}

bool is_dark() {
    return now.base == dark_shades().base;
}

Choice chosen() {
    return choice_now;
}

void choose(Choice choice) {
    choice_now = choice;
    const bool before = is_dark(),
               dark = choice == Choice::dark || (choice == Choice::system && system_is_dark());
    now = dark ? dark_shades() : light_shades();
    paper_now = dark ? &palette::kDark : &palette::kLight;
    QApplication::setPalette(palette_of(now));
    if (dark == before && !qApp->styleSheet().isEmpty()) return;
    qApp->setStyleSheet(style_sheet_of(now));
    changes_of_theme->tell();
}

void on_change(QObject* context, std::function<void()> react) {
    changes_of_theme->listeners.emplace_back(context, std::move(react));
}

QColor of(Decision decision) {
    return to_qt(paper().of(decision));
}

QColor of(Phase phase) {
    return to_qt(paper().of(phase));
}

QColor text_of(Decision decision) {
    return to_qt(paper().text(paper().of(decision)));
}

QIcon icon(const QString& name) {
    return QIcon(new ThemedIcon(name));
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
            icon.addPixmap(pixmap, mode);  // the dot shows data, so selected rows must not tint it
    }
    return icon;
}

namespace {

/// Makes tooltips plain text instead of HTML, because they contain names from graphs and files. Qt has no
/// setting for this.
class PlainTips : public QObject {
  public:
    bool eventFilter(QObject* watched, QEvent* event) override {
        if (event->type() == QEvent::Polish && watched->inherits("QTipLabel"))
            static_cast<QLabel*>(watched)->setTextFormat(Qt::PlainText);
        return false;
    }
};

}  // namespace

void apply(QApplication& app, Choice choice) {
    load_icons();
    app.setStyle("Fusion");
    QFont font = app.font();
    font.setPixelSize(13);
    app.setFont(font);
    changes_of_theme = new Changes;
    changes_of_theme->setParent(&app);
    app.installEventFilter(changes_of_theme);
    auto* tips = new PlainTips;
    tips->setParent(&app);
    app.installEventFilter(tips);
    choose(choice);
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

QVBoxLayout* plain_column(QWidget* widget) {
    auto* column = new QVBoxLayout(widget);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    return column;
}

QWidget* split(Qt::Orientation orientation, QWidget* first, QWidget* second) {
    auto* both = new QSplitter(orientation);
    both->addWidget(first);
    both->addWidget(second);
    both->setStretchFactor(0, 3);
    both->setStretchFactor(1, 2);
    both->setChildrenCollapsible(false);
    return both;
}

QLabel* plain_label(const QString& text) {
    auto* label = new QLabel(text);
    label->setTextFormat(Qt::PlainText);
    return label;
}

QLabel* quiet_label(const QString& text, bool wrap) {
    QLabel* label = plain_label(text);
    label->setWordWrap(wrap);
    label->setProperty("quiet", true);
    return label;
}

QLabel* danger_label() {
    QLabel* label = plain_label();
    label->setWordWrap(true);
    label->setProperty("danger", true);
    return label;
}

void set_on_page(QWidget& widget) {
    widget.setAttribute(Qt::WA_StyledBackground);
    widget.setProperty("page", true);
}

QLabel* heading(const QString& text) {
    QLabel* label = plain_label(text);
    QFont font = label->font();
    font.setPixelSize(15);
    font.setWeight(QFont::DemiBold);
    label->setFont(font);
    return label;
}

QToolButton* boxed_button(const QString& text, const QString& tip) {
    auto* button = new QToolButton;
    button->setText(text);
    button->setToolTip(tip);
    button->setProperty("boxed", true);
    return button;
}

}  // namespace rematlas::explorer::theme
