// Tests the window at 800x600 pixels: at its first start, and at a second start with the settings that the
// first one stored.
#include <QAbstractButton>
#include <QApplication>
#include <QHeaderView>
#include <QLabel>
#include <QScreen>
#include <QStatusBar>
#include <QTabBar>
#include <QToolBar>
#include <QTranslator>

#include "app/explorer/look/theme.h"
#include "app/explorer/models/plan_list.h"
#include "app/explorer/words/language.h"
#include "tests/app/explorer/window_fixture.h"

namespace rematlas::explorer {
namespace {

class SmallScreen : public Windows {
  protected:
    void SetUp() override {}
    void quit() {
        if (window) window->close();
        window.reset();
    }
    /// Opens a window with the stored settings of earlier windows. No file is open.
    void start() {
        quit();
        settings = std::make_unique<QSettings>(folder.filePath("settings.ini"), QSettings::IniFormat);
        window = std::make_unique<MainWindow>(settings.get());
        if (settings->allKeys().isEmpty()) window->resize(800, 600);
        window->show();
        process_events();
    }
    /// Opens a graph and solves it, so that a plan with its cost is shown.
    void open_plan() {
        open(sample("gpt"));
        window->session().budget.set_text("80%");
        if (window->session().plans.rowCount() < 2) solve();
        process_events();
    }
    void solve() {
        window->session().set_solve_settings({.solver = "chen-greedy", .time = std::chrono::seconds(5)});
        window->solve_panel().solve();
        ASSERT_TRUE(eventually([&] { return idle() && window->session().plans.rowCount() > 1; }));
    }
    void keep_picture(const QString& name) {
        const QString to = qEnvironmentVariable("REMATLAS_KEEP_PICTURES");
        EXPECT_TRUE(to.isEmpty() || window->grab().save(to + '/' + name));
    }
    QString sample(const QString& name) {
        const QString file = folder.filePath(name + ".graph.json");
        return QFile::exists(file) ? file : Windows::sample(name);
    }
};

/// Says whether the whole text of the label is visible.
bool is_whole(const QLabel& label) {
    const QRect room = label.contentsRect();
    const QRect needs =
        label.fontMetrics().boundingRect(QRect(0, 0, room.width(), 10'000), Qt::TextWordWrap, label.text());
    return needs.width() <= room.width() && needs.height() <= room.height();
}

TEST_F(SmallScreen, NothingThatTellsTheCostIsCutOff) {
    for (const char* which : {"first", "second"}) {
        start();
        open_plan();
        SCOPED_TRACE(which);
        keep_picture(QString("small_%1_start.png").arg(which));
        EXPECT_EQ(window->size(), QSize(800, 600));
        const QString headline = child<QLabel>("fit_headline")->text();
        EXPECT_TRUE(headline.contains('%')) << headline.toStdString();
        for (const char* name : {"fit_headline", "fit_detail", "fit_conditions"}) {
            auto* label = child<QLabel>(name);
            EXPECT_TRUE(is_whole(*label))
                << label->text().toStdString() << " in " << label->width() << 'x' << label->height();
        }
        auto* plans = child<QTreeView>("plans");
        const QHeaderView& header = *plans->header();
        EXPECT_LE(header.sectionViewportPosition(PlanList::overhead) + header.sectionSize(PlanList::overhead),
                  plans->viewport()->width());
        for (int row = 0; row < plans->model()->rowCount(); ++row) {
            const QModelIndex time = plans->model()->index(row, PlanList::overhead);
            EXPECT_LE(plans->sizeHintForIndex(time).width(), header.sectionSize(PlanList::overhead));
        }
    }
}

/// Returns the window's buttons without text, picture or arrow, and its tabs without text.
QStringList empty_buttons(const QWidget& window) {
    QStringList empty;
    for (const QAbstractButton* button : window.findChildren<QAbstractButton*>()) {
        if (!button->isVisible() || button->width() == 0 || button->height() == 0) continue;
        const auto* tool = qobject_cast<const QToolButton*>(button);
        const bool arrow = tool && tool->arrowType() != Qt::NoArrow;
        if (button->text().isEmpty() && button->icon().isNull() && !arrow)
            empty << QString("%1 %2 in %3")
                         .arg(button->metaObject()->className(), button->objectName(),
                              button->parentWidget()->metaObject()->className());
    }
    for (const QTabBar* bar : window.findChildren<QTabBar*>()) {
        if (!bar->isVisible() || bar->visibleRegion().isEmpty()) continue;
        if (bar->count() == 0) empty << "a bar without tabs";
        for (int tab = 0; tab < bar->count(); ++tab)
            if (bar->tabText(tab).isEmpty()) empty << QString("tab %1").arg(tab);
    }
    return empty;
}

/// Returns the tab bars that are cut off, that are covered, or that cut off the titles of their tabs.
QStringList cut_tab_bars(const MainWindow& window) {
    QStringList cut;
    for (const QTabBar* bar : window.findChildren<QTabBar*>(QString(), Qt::FindDirectChildrenOnly)) {
        if (!bar->isVisible() || bar->count() == 0) continue;
        const auto note = [&](const QString& what) { cut << bar->tabText(0) + ": " + what; };
        if (bar->height() < bar->sizeHint().height()) note(QString("%1 high").arg(bar->height()));
        for (const QString& name : window.dock_names()) {
            const QDockWidget* dock = window.dock(name);
            if (dock->visibleRegion().isEmpty() || !dock->geometry().intersects(bar->geometry())) continue;
            note("covered by " + name);
        }
        if (bar->geometry().bottom() >= window.statusBar()->geometry().top()) note("below the window");
        for (int tab = 0; tab < bar->count(); ++tab) {
            const int words = bar->fontMetrics().horizontalAdvance(bar->tabText(tab));
            if (bar->tabRect(tab).width() < words + 2 * theme::tab_padding) note("cuts " + bar->tabText(tab));
        }
    }
    return cut;
}

TEST_F(SmallScreen, TheTabsOfTheDocksAreSeenAsAWhole) {
    start();
    open(sample("gpt"));
    // With this budget the text about the budget has its greatest length.
    window->session().budget.set_text("67%");
    process_events();
    keep_picture("small_tabs_graph.png");
    EXPECT_EQ(window->size(), QSize(800, 600)) << "it has not grown";
    EXPECT_EQ(cut_tab_bars(*window).join("; ").toStdString(), "") << "without a plan";
    open_plan();
    keep_picture("small_tabs_plan.png");
    for (const QString& name : window->dock_names()) {
        window->dock(name)->raise();
        process_events();
        EXPECT_EQ(cut_tab_bars(*window).join("; ").toStdString(), "") << name.toStdString();
    }
}

TEST_F(SmallScreen, TheScheduleHasRoomForItsLanesAndItsMemory) {
    start();
    open(sample("gpt"));
    window->session().budget.set_text("67%");
    process_events();
    const LanesView& lanes = window->lanes();
    EXPECT_GE(lanes.height(), lanes.minimumSizeHint().height());
    QStringList over;
    for (const QAbstractButton* button : lanes.findChildren<QAbstractButton*>())
        if (button->isVisible() && button->y() < 52) over << button->text();
    EXPECT_TRUE(over.isEmpty()) << over.join(", ").toStdString() << " over the names of the lanes";
}

TEST_F(SmallScreen, NoButtonIsEmpty) {
    for (const char* which : {"first", "second"}) {
        start();
        keep_picture(QString("small_%1_welcome.png").arg(which));
        EXPECT_EQ(empty_buttons(*window).join(", ").toStdString(), "") << which << " start, nothing open";
        open_plan();
        EXPECT_EQ(empty_buttons(*window).join(", ").toStdString(), "") << which << " start";
        for (QToolBar* bar : window->findChildren<QToolBar*>()) {
            const auto* more = bar->findChild<QWidget*>("qt_toolbar_ext_button");
            EXPECT_TRUE(!more || !more->isVisible()) << which << ": " << bar->objectName().toStdString();
        }
    }
}

TEST_F(SmallScreen, ALayoutIsOneOfTheScreenThatItWasMadeOn) {
    start();
    open_plan();
    window->dock("tradeoff")->hide();
    start();
    open_plan();
    EXPECT_FALSE(window->dock("tradeoff")->isVisibleTo(window.get())) << "this screen's";
    const QSize size = window->screen()->size();
    quit();
    const QString here = QString("%1x%2").arg(size.width()).arg(size.height());
    for (const char* name : {"layout", "geometry"}) {
        const QString key = QString("%1/%2").arg(name, here);
        ASSERT_TRUE(settings->contains(key)) << key.toStdString();
        settings->setValue(QString("%1/7680x4320").arg(name), settings->value(key));
        settings->remove(key);
    }
    start();
    open_plan();
    EXPECT_TRUE(window->dock("tradeoff")->isVisibleTo(window.get())) << "another screen's says nothing here";
}

/// While an object of this class lives, the program speaks German.
class InGerman {
  public:
    InGerman() : before_(qApp->findChildren<QTranslator*>()) { speaks_ = speak("de"); }
    ~InGerman() {
        for (QTranslator* words : qApp->findChildren<QTranslator*>())
            if (!before_.contains(words)) delete words;
    }
    bool speaks() const { return speaks_; }

  private:
    QList<QTranslator*> before_;
    bool speaks_ = false;
};

TEST_F(SmallScreen, TwoPlansAreComparedAboveTheStatusBarInGermanToo) {
    const InGerman german;
    if (!german.speaks()) GTEST_SKIP() << "there are no translations";
    start();
    open_plan();
    window->dock("compare")->show();
    window->dock("compare")->raise();
    for (int i = 0; i < 20; ++i) process_events();
    keep_picture("small_compare_german.png");
    const auto* headline = child<QLabel>("compare_headline");
    EXPECT_TRUE(is_whole(*headline)) << headline->text().toStdString();
    EXPECT_LE(headline->height(), 3 * headline->fontMetrics().lineSpacing() + 2);
    EXPECT_EQ(window->size(), QSize(800, 600));
    for (const QString& name : window->dock_names()) {
        const QDockWidget* dock = window->dock(name);
        if (!dock->isVisible() || dock->visibleRegion().isEmpty()) continue;
        EXPECT_LE(dock->geometry().bottom(), window->statusBar()->geometry().top()) << name.toStdString();
    }
}

}  // namespace
}  // namespace rematlas::explorer
