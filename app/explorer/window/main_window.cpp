#include "app/explorer/window/main_window.h"

#include <QApplication>
#include <QCloseEvent>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QElapsedTimer>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QMessageBox>
#include <QMimeData>
#include <QScreen>
#include <QStatusBar>
#include <algorithm>

#include "app/explorer/docks/all_docks.h"
#include "app/explorer/docks/tables.h"
#include "app/explorer/look/theme.h"
#include "app/explorer/window/batch_dialog.h"
#include "app/explorer/words/wording.h"

namespace rematlas::explorer {
namespace {

using About = MessageBar::About;

/// In a window smaller than this (pixels), neighbouring docks become tabs of one place.
constexpr int narrow_width = 1300, narrow_height = 960;
constexpr int longest_wait = 2000;  ///< milliseconds that a solver gets to return its best schedule
/// If the window's height is below this number of pixels, the toolbar is hidden. Its actions are in the
/// menus, too.
constexpr int low_height = 640;

/// Returns the version of saved layouts. Layouts of another version are ignored. A new dock gives a new
/// version; for other changes of docks, the constant must be raised by 100.
int layout_version() {
    return 400 + static_cast<int>(all_docks().size());
}

}  // namespace

MainWindow::MainWindow(QSettings* settings)
    : settings_(settings),
      recent_(settings),
      message_bar_(new MessageBar),
      pages_(new QStackedWidget),
      welcome_(new WelcomePage(recent_)),
      graph_page_(new GraphPage(session_)),
      graph_or_table_(with_items_table(session_, graph_page_, &graph_page_->view())) {
    session_.set_keeps_plans(settings != nullptr);
    setWindowTitle(tr("Rematlas Explorer"));
    setWindowIcon(theme::icon("rematlas"));
    setAcceptDrops(true);
    setDockOptions(QMainWindow::AnimatedDocks | QMainWindow::AllowTabbedDocks |
                   QMainWindow::AllowNestedDocks);
    setCorner(Qt::BottomLeftCorner, Qt::BottomDockWidgetArea);
    setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
    // The size of a page that is not shown must not take space from the docks.
    for (QWidget* page : {static_cast<QWidget*>(welcome_), static_cast<QWidget*>(graph_or_table_)})
        page->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Ignored);
    pages_->addWidget(welcome_);
    pages_->addWidget(graph_or_table_);
    auto* middle = new QWidget;
    QVBoxLayout* column = theme::plain_column(middle);
    column->addWidget(message_bar_);
    column->addWidget(pages_, 1);
    setCentralWidget(middle);
    make_docks();
    make_actions();
    make_status_bar();
    connect_session();
    setMinimumSize(800, 520);
    // The window has a comfortable size, but is not larger than the screen.
    const QSize room = screen() ? screen()->availableSize() - QSize(40, 60) : QSize(1600, 1000);
    resize(QSize(1600, 1000).boundedTo(room).expandedTo(minimumSize()));
    show_graph();
}

MainWindow::~MainWindow() {
    session_.cancel_all();
    // Views refer to the session. They are deleted here, because otherwise they would live longer than the
    // session: a QWidget destroys its members before its children.
    for (auto& [name, dock] : docks_) delete dock;
    delete centralWidget();
}

void MainWindow::make_docks() {
    for (const DockEntry& entry : all_docks()) {
        auto* dock = new QDockWidget(QCoreApplication::translate("Docks", entry.title), this);
        dock->setObjectName(entry.id);
        QWidget* view = entry.make(session_);
        views_[entry.id] = view;
        dock->setWidget(entry.with_table ? entry.with_table(session_, view) : view);
        dock->setFeatures(QDockWidget::DockWidgetClosable | QDockWidget::DockWidgetMovable |
                          QDockWidget::DockWidgetFloatable);
        dock->toggleViewAction()->setToolTip(QCoreApplication::translate("Docks", entry.tip));
        addDockWidget(entry.area, dock);
        docks_[entry.id] = dock;
    }
    splitDockWidget(docks_["schedule"], docks_["tradeoff"], Qt::Horizontal);
    arrange_docks();
}

/// Makes neighbouring docks tabs of one place if the window is too small for all docks, and separates them if
/// it is large enough. Docks that the user has moved stay where they are.
void MainWindow::arrange_docks() {
    const struct {
        const char *first, *second;
        std::vector<const char*> more;
        /// true: the docks `more` are always tabs beside `first`; false: they are tabs beside `second`, and
        /// in a narrow window beside `first`
        bool more_with_first;
        Qt::Orientation apart;
    } neighbours[] = {{"plans", "blocks", {}, false, Qt::Vertical},
                      {"solve", "details", {"alive"}, false, Qt::Vertical},
                      {"schedule", "tradeoff", {"flame", "lifetimes", "compare"}, true, Qt::Horizontal}};
    for (const auto& [first, second, more, more_with_first, apart] : neighbours) {
        QDockWidget *one = docks_[first], *other = docks_[second];
        QDockWidget* host = narrow_ || more_with_first ? one : other;
        const auto is_beside = [&](QDockWidget* dock) {
            return dock && !dock->isFloating() && dockWidgetArea(dock) == dockWidgetArea(one);
        };
        if (one->isFloating() || !is_beside(other)) continue;
        if (!narrow_ && tabifiedDockWidgets(one).contains(other)) {
            const bool hidden = other->isHidden();
            removeDockWidget(other);  // a tab can only be split off after it was removed
            addDockWidget(dockWidgetArea(one), other, apart);
            other->setHidden(hidden);
        }
        if (narrow_) tabifyDockWidget(one, other);
        for (const char* name : more)
            if (is_beside(docks_[name])) tabifyDockWidget(host, docks_[name]);
        host->raise();
    }
    QDockWidget *details = docks_["details"], *why = docks_["why"];
    if (why->isFloating() || details->isFloating() || dockWidgetArea(why) != dockWidgetArea(details)) return;
    tabifyDockWidget(details, why);
    (narrow_ ? docks_["solve"] : details)->raise();
}

void MainWindow::resizeEvent(QResizeEvent* event) {
    QMainWindow::resizeEvent(event);
    findChild<QToolBar*>("tools")->setVisible(height() >= low_height);
    const bool narrow = width() < narrow_width || height() < narrow_height;
    if (narrow == narrow_) return;
    narrow_ = narrow;
    arrange_docks();
    if (shown_ && session_.graph()) resize_docks();
}

void MainWindow::hide_docks() {
    if (!hidden_layout_.isEmpty()) return;
    hidden_layout_ = saveState(layout_version());
    for (auto& [name, dock] : docks_) dock->hide();
}

void MainWindow::bring_docks_back() {
    if (hidden_layout_.isEmpty()) return;
    restoreState(hidden_layout_, layout_version());
    hidden_layout_.clear();
    answer_bar_->show();  // `hidden_layout_` hides the bar, which was hidden when the layout was saved
    if (has_own_layout_) return;
    layout()->activate();  // updates the current sizes, from which the new sizes are computed
    resize_docks();
}

void MainWindow::restore_default_layout() {
    hidden_layout_.clear();
    for (auto& [name, dock] : docks_) {
        dock->setFloating(false);
        dock->show();
    }
    if (!default_layout_.isEmpty()) restoreState(default_layout_, layout_version());
    narrow_ = width() < narrow_width || height() < narrow_height;
    arrange_docks();
    resize_docks();
    answer_bar_->setVisible(session_.graph() != nullptr);
}

void MainWindow::resize_docks() {
    // Sizes are shares of the window. The middle gets half of the width. Views over time get two fifths of
    // the height, or more if they are tabs of one place. The left side has at least 264 pixels, so that the
    // peak and the time of a plan are visible.
    resizeDocks({docks_["blocks"], docks_["solve"]}, {std::max(width() * 7 / 25, 264), width() * 5 / 24},
                Qt::Horizontal);
    resizeDocks({docks_["plans"], docks_["blocks"]}, {height() / 4, height() * 7 / 20}, Qt::Vertical);
    resizeDocks({docks_["solve"], docks_["details"]}, {height() * 5 / 10, height() * 4 / 10}, Qt::Vertical);
    resizeDocks({docks_["schedule"], docks_["tradeoff"]}, {width() * 6 / 10, width() * 4 / 10},
                Qt::Horizontal);
    resizeDocks({docks_["schedule"]}, {height() * (narrow_ ? 9 : 8) / 20}, Qt::Vertical);
}

void MainWindow::showEvent(QShowEvent* event) {
    QMainWindow::showEvent(event);
    if (shown_) return;
    shown_ = true;
    default_layout_ = saveState(layout_version());
    restore_default_layout();
    if (settings_) {
        restoreGeometry(settings_->value(setting("geometry")).toByteArray());
        has_own_layout_ = restoreState(settings_->value(setting("layout")).toByteArray(), layout_version());
    }
    if (!session_.graph()) hide_docks();
    // The bar is shown or hidden here, because the saved layout can have it in the wrong state.
    answer_bar_->setVisible(session_.graph() != nullptr);
}

/// Returns the key of a setting for screens of this size. Layouts are stored for each size of the screen,
/// because on a smaller screen the docks would cover each other.
QString MainWindow::setting(const QString& name) const {
    const QSize size = screen() ? screen()->size() : QSize();
    return QStringLiteral("%1/%2x%3").arg(name).arg(size.width()).arg(size.height());
}

/// Asks a running solver for its best schedule so far, and waits at most `longest_wait` until the schedule
/// has become a plan.
void MainWindow::take_best_so_far() {
    if (!settings_ || !session_.solver.running()) return;
    session_.solver.finish_early();
    QElapsedTimer waited;
    for (waited.start(); session_.solver.running() && waited.elapsed() < longest_wait;)
        QCoreApplication::processEvents(QEventLoop::ExcludeUserInputEvents, 20);
}

/// Says whether the window may close. If plans could not be written to the file next to the graph, asks the
/// user.
bool MainWindow::may_lose_plans() {
    take_best_so_far();
    session_.journal.flush();
    QCoreApplication::sendPostedEvents();  // if writing has failed, delivers the message about it
    if (!session_.journal.failed() || session_.plans.rowCount() < 2) return true;
    return QMessageBox::question(
               this, tr("Rematlas Explorer"),
               tr("The plans of this graph could not be kept beside it, and are lost when the window "
                  "closes. Export what you want to keep first."),
               QMessageBox::Close | QMessageBox::Cancel, QMessageBox::Cancel) == QMessageBox::Close;
}

void MainWindow::closeEvent(QCloseEvent* event) {
    if (!may_lose_plans()) return event->ignore();
    if (settings_ && shown_) {
        settings_->setValue(setting("geometry"), saveGeometry());
        settings_->setValue(setting("layout"),
                            hidden_layout_.isEmpty() ? saveState(layout_version()) : hidden_layout_);
    }
    session_.cancel_all();
    event->accept();
}

void MainWindow::make_status_bar() {
    facts_ = theme::quiet_label({});
    work_ = theme::quiet_label({});
    work_bar_ = new QProgressBar;
    work_bar_->setTextVisible(false);
    work_bar_->setFixedWidth(160);
    auto* cancel_button = new QToolButton;
    cancel_button->setIcon(theme::icon("cancel"));
    cancel_button->setToolTip(tr("Cancel"));
    cancel_button->setAccessibleName(tr("Cancel"));
    work_widgets_ = {work_, work_bar_, cancel_button};
    work_bar_->setAccessibleName(tr("Progress"));
    const auto cancel = [this] {
        session_.cancel_all();
        writing_.cancel();
        looking_.stop();
        show_quiet_state();
    };
    connect(cancel_button, &QToolButton::clicked, this, cancel);
    connect(welcome_, &WelcomePage::cancel_requested, this, cancel);
    statusBar()->setSizeGripEnabled(false);
    statusBar()->setContentsMargins(theme::margin, 2, theme::margin, 2);
    statusBar()->addWidget(facts_);
    for (QWidget* widget : work_widgets_) statusBar()->addPermanentWidget(widget);
    show_quiet_state();
}

void MainWindow::connect_session() {
    connect(welcome_, &WelcomePage::open_requested, this, &MainWindow::ask_and_open);
    connect(welcome_, &WelcomePage::sample_requested, this, &MainWindow::open_sample);
    connect(welcome_, &WelcomePage::file_requested, this, [this](const QString& path) { open({path}); });
    connect(&plans(), &PlansView::comparison_asked, this, [this] {
        docks_["compare"]->show();
        docks_["compare"]->raise();
    });
    connect(&session_.selection, &Selection::lifetimes_asked, this, [this] { go_to("lifetimes"); });
    connect(&session_, &Session::graph_changed, this, &MainWindow::show_graph);
    connect(&session_, &Session::blocks_changed, this, &MainWindow::show_graph);
    connect(&session_, &Session::schedule_changed, this, &MainWindow::update_actions);
    connect(&session_.sweep, &SweepController::changed, this, &MainWindow::update_actions);
    connect(&session_, &Session::failed, this, [this](const QString& message) {
        show_error(About::opening, message, tr("Open another file..."), [this] { ask_and_open(); });
    });
    connect(&session_.solver, &SolveController::infeasible, this,
            [this](const NoScheduleReport& report) { show_no_schedule(report.headline); });
    connect(&session_.solver, &SolveController::failed, this, &MainWindow::show_no_schedule);
    connect(&session_.solver, &SolveController::started, this,
            [this] { message_bar_->settle(About::solving); });
    connect(&session_.watch, &GraphWatch::changed, this, &MainWindow::tell_of_file);
    connect(&session_, &Session::best_kept, this, [this](const QString& plan) {
        statusBar()->showMessage(tr("What the stopped solver had found is kept as plan %1.").arg(plan),
                                 15000);
    });
    connect(&session_.journal, &PlanJournal::cannot_write, this, [this](const QString& message) {
        show_error(About::keeping_plans,
                   tr("New plans are not kept beside the graph: %1. It is tried again; export what you want "
                      "to keep until then.")
                       .arg(message));
    });
    connect(&session_.journal, &PlanJournal::wrote_again, this, [this] {
        message_bar_->settle(About::keeping_plans);
        statusBar()->showMessage(tr("Plans are kept beside the graph again."), 15000);
    });
    connect(&session_.sweep, &SweepController::failed, this,
            [this](const QString& message) { show_error(About::sweeping, message); });
    connect(&session_.sweep, &SweepController::started, this,
            [this] { message_bar_->settle(About::sweeping); });
    connect(&session_, &Session::opened, this, [this](const QString& path) { recent_.add(path); });
    connect(&session_, &Session::graph_changed, this, [this] {
        for (const About about : {About::solving, About::sweeping, About::graph_file})
            message_bar_->settle(about);
    });
    connect(&session_, &Session::opening_started, this, [this](const QString& path) {
        show_working(tr("Opening %1").arg(QFileInfo(path).fileName()), -1);
    });
    connect(&session_, &Session::all_opened, this, &MainWindow::show_quiet_state);
    connect(&looking_, &PythonReader::found, this, &MainWindow::capture_there);
    connect(&looking_, &PythonReader::failed, this, [this](const QString& message) {
        show_quiet_state();
        show_error(About::opening, message);
    });
    connect(&session_.capture, &CaptureController::started, this,
            [this] { show_working(tr("Capturing the model"), -1); });
    connect(&session_.capture, &CaptureController::progressed, this,
            [this](const QString& words, double fraction) { show_working(words, fraction); });
    connect(&session_.capture, &CaptureController::finished, this, &MainWindow::show_quiet_state);
    connect(&session_.capture, &CaptureController::failed, this, [this](const QString& message) {
        last_error_ = message;  // the capture's dialog shows the message
        statusBar()->showMessage(message, 15000);
    });
    connect(&writing_, &BackgroundJob::finished, this, &MainWindow::show_quiet_state);
}

void MainWindow::show_working(const QString& what, double fraction) {
    welcome_->show_working(what, fraction);
    work_->setText(what);
    work_bar_->setRange(0, fraction < 0 ? 0 : 1000);
    if (fraction >= 0) work_bar_->setValue(static_cast<int>(fraction * 1000));
    for (QWidget* widget : work_widgets_) widget->show();
}

void MainWindow::show_quiet_state() {
    if (session_.opening() || session_.capture.running() || writing_.running() || looking_.running()) return;
    welcome_->hide_working();
    for (QWidget* widget : work_widgets_) widget->hide();
}

void MainWindow::show_error(MessageBar::About about, const QString& message, const QString& remedy,
                            std::function<void()> act) {
    last_error_ = message;
    message_bar_->show_message(about, message, remedy, std::move(act));
}

/// Shows why there is no schedule. The Solve dock shows all reasons. If the dock is closed, only the headline
/// is shown in the line above the graph.
void MainWindow::show_no_schedule(const QString& headline) {
    if (docks_["solve"]->isHidden()) return show_error(About::solving, headline);
    docks_["solve"]->raise();
}

void MainWindow::show_graph() {
    const GraphPtr& graph = session_.graph();
    pages_->setCurrentWidget(graph ? static_cast<QWidget*>(graph_or_table_) : welcome_);
    if (graph) {
        const QString name = text(graph->graph.name);
        setWindowTitle(tr("%1 - Rematlas Explorer").arg(name));
        facts_->setText(
            tr("%1:  %2 ops, %3 tensors, %4 blocks;  peak without recomputation %5, step %6")
                .arg(name)
                .arg(graph->graph.ops.size())
                .arg(graph->graph.tensors.size())
                .arg(graph->graph.blocks.size())
                .arg(bytes_text(graph->full_peak), time_text(Nanoseconds(graph->flat.base_time))));
    } else {
        setWindowTitle(tr("Rematlas Explorer"));
        facts_->setText(tr("Nothing is open"));
    }
    if (shown_ && graph && !hidden_layout_.isEmpty()) {
        bring_docks_back();
        graph_view().setFocus(Qt::OtherFocusReason);
    }
    if (shown_ && !graph) hide_docks();
    answer_bar_->setVisible(graph != nullptr);
    update_actions();
}

void MainWindow::ask_about_batch() {
    if (!session_.graph()) return;
    auto* dialog = new BatchDialog(session_, this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(&session_, &Session::graph_changed, dialog, &QDialog::close);
    dialog->show();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    const QList<QUrl> urls = event->mimeData()->urls();
    if (std::any_of(urls.begin(), urls.end(), [](const QUrl& url) { return url.isLocalFile(); }))
        event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
    QStringList paths;
    for (const QUrl& url : event->mimeData()->urls()) {
        if (url.isLocalFile()) paths << url.toLocalFile();
    }
    open(paths);
    event->acceptProposedAction();
}

QDockWidget* MainWindow::dock(const QString& name) const {
    const auto at = docks_.find(name);
    return at == docks_.end() ? nullptr : at->second;
}

QStringList MainWindow::dock_names() const {
    QStringList names;
    for (const auto& [name, dock] : docks_) names << name;
    return names;
}

}  // namespace rematlas::explorer
