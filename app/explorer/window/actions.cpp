#include <QAction>
#include <QApplication>
#include <QDockWidget>
#include <QFileInfo>
#include <QMenuBar>
#include <QMessageBox>
#include <QShortcut>
#include <QToolBar>

#include "app/explorer/docks/all_docks.h"
#include "app/explorer/files/python_source.h"
#include "app/explorer/look/theme.h"
#include "app/explorer/window/about.h"
#include "app/explorer/window/answer_strip.h"
#include "app/explorer/window/main_window.h"
#include "app/explorer/window/open_dialog.h"

namespace rematlas::explorer {

void MainWindow::make_actions() {
    make_file_menu();
    make_view_menu();
    make_solve_menu();
    make_help_menu();
    make_toolbar();
    update_actions();
}

void MainWindow::make_file_menu() {
    QMenu* menu = menuBar()->addMenu(tr("&File"));
    QAction* open = menu->addAction(theme::icon("open"), tr("&Open"), this, &MainWindow::ask_and_open,
                                    QKeySequence::Open);
    open->setObjectName("open");
    menu->addAction(tr("Open from another &machine..."), this, &MainWindow::ask_and_open_remote);
    recent_menu_ = menu->addMenu(tr("Open &recent"));
    connect(recent_menu_, &QMenu::aboutToShow, this, &MainWindow::show_recent_menu);
    menu->addSeparator();
    export_menu_ = menu->addMenu(theme::icon("save"), tr("&Export"));
    make_export_menu(*export_menu_);
    menu->addSeparator();
    QAction* close = menu->addAction(tr("&Close graph"), &session_, &Session::close, QKeySequence::Close);
    needs_graph_ << close;
    menu->addAction(tr("&Quit"), this, &QWidget::close, QKeySequence::Quit);
}

void MainWindow::make_export_menu(QMenu& menu) {
    needs_schedule_ << menu.addAction(tr("&Schedule (.schedule.json)..."), this, &MainWindow::export_schedule,
                                      QKeySequence::Save);
    needs_schedule_ << menu.addAction(tr("&Plan for training (.plan)..."), this, &MainWindow::export_plan);
    needs_schedule_ << menu.addAction(tr("Policy for chec&kpointing (.policy.json)..."), this,
                                      [this] { export_policy(ExportForm::policy); });
    needs_schedule_ << menu.addAction(tr("Selectors for t&orchtitan (.txt)..."), this,
                                      [this] { export_policy(ExportForm::torchtitan); });
    needs_sweep_ << menu.addAction(tr("S&weep (.sweep.json)..."), this, &MainWindow::save_sweep);
    needs_schedule_ << menu.addAction(tr("&Report to send to others (.html)..."), this,
                                      &MainWindow::export_report);
    QMenu* tables = menu.addMenu(tr("Ta&ble (.csv)"));
    tables->setObjectName("tables");
    connect(tables, &QMenu::aboutToShow, this, [this, tables] { list_tables(*tables); });
    menu.addSeparator();
    needs_graph_ << menu.addAction(theme::icon("picture"), tr("Picture of the &graph..."), this,
                                   &MainWindow::export_graph_picture);
    needs_schedule_ << menu.addAction(tr("Picture of the s&chedule..."), this,
                                      &MainWindow::export_schedule_picture);
    needs_sweep_ << menu.addAction(tr("Picture of the &trade-off..."), this,
                                   &MainWindow::export_sweep_picture);
    needs_graph_ << menu.addAction(tr("Picture of the current &view..."), this,
                                   &MainWindow::export_current_view);
    menu.addSeparator();
    lines_again_ = menu.addAction(tr("&Lines to paste for the last export"), this, &MainWindow::show_lines);
}

void MainWindow::make_view_menu() {
    QMenu* menu = menuBar()->addMenu(tr("&View"));
    GraphView& view = graph_page_->view();
    const auto add = [&](const QString& title, const QKeySequence& key, auto slot, const QString& icon = {}) {
        QAction* action = menu->addAction(title, this, slot);
        action->setShortcut(key);
        if (!icon.isEmpty()) action->setIcon(theme::icon(icon));
        needs_graph_ << action;
        return action;
    };
    add(
        tr("Fit &width"), Qt::Key_W, [&view] { view.fit_width(); }, "fit_width")
        ->setObjectName("fit_width");
    add(
        tr("Fit &all"), Qt::Key_A, [&view] { view.fit_all(); }, "fit_all")
        ->setObjectName("fit_all");
    add(tr("&Centre the selection"), Qt::Key_F, [&view] { view.center_selection(); });
    add(tr("Zoom &in"), QKeySequence::ZoomIn, [&view] { view.zoom(1.25); });
    add(tr("Zoom &out"), QKeySequence::ZoomOut, [&view] { view.zoom(0.8); });
    menu->addSeparator();
    add(
        tr("One level &more"), QKeySequence("Ctrl+Right"),
        [this] { session_.ladder.set_depth(session_.ladder.depth() + 1); }, "expand")
        ->setObjectName("deeper");
    add(
        tr("One level &less"), QKeySequence("Ctrl+Left"),
        [this] { session_.ladder.set_depth(session_.ladder.depth() - 1); }, "collapse")
        ->setObjectName("shallower");
    menu->addSeparator();
    QAction* find = menu->addAction(theme::icon("search"), tr("&Search"), this, [this] {
        docks_["blocks"]->show();
        docks_["blocks"]->raise();
        block_tree().focus_search();
    });
    find->setShortcut(QKeySequence::Find);
    menu->addSeparator();
    make_go_menu(*menu->addMenu(tr("&Go to")));
    for (const DockEntry& entry : all_docks()) {
        QAction* toggle = docks_[entry.id]->toggleViewAction();
        menu->addAction(toggle);
        needs_graph_ << toggle;
    }
    menu->addSeparator();
    make_theme_menu(*menu->addMenu(tr("Colo&urs")));
    menu->addAction(tr("Restore &default layout"), this, &MainWindow::restore_default_layout)
        ->setObjectName("restore_layout");
}

void MainWindow::make_theme_menu(QMenu& menu) {
    const struct {
        QString title, key;
        theme::Choice choice;
    } choices[] = {{tr("As the &system"), "system", theme::Choice::system},
                   {tr("&Light"), "light", theme::Choice::light},
                   {tr("&Dark"), "dark", theme::Choice::dark}};
    auto* group = new QActionGroup(this);
    const QString kept = settings_ ? settings_->value("theme").toString() : QString();
    for (const auto& [title, key, choice] : choices) {
        QAction* action = menu.addAction(title);
        action->setObjectName("theme_" + key);
        action->setCheckable(true);
        group->addAction(action);
        connect(action, &QAction::triggered, this, [this, key = key, choice = choice] {
            theme::choose(choice);
            if (settings_) settings_->setValue("theme", key);
        });
        if (key == kept && choice != theme::chosen()) theme::choose(choice);
        action->setChecked(choice == theme::chosen());
    }
}

void MainWindow::make_solve_menu() {
    QMenu* menu = menuBar()->addMenu(tr("&Plan"));
    for (const DockEntry& entry : all_docks())
        if (entry.add_actions) needs_graph_ << entry.add_actions(*views_[entry.id], *menu);
    QAction* keep = menu->addAction(tr("Show the step without re&computation"), this,
                                    [this] { session_.set_schedule(session_.all_kept()); });
    QAction* batch = menu->addAction(tr("Batch si&ze"), this, &MainWindow::ask_about_batch);
    batch->setShortcut(QKeySequence("Ctrl+Shift+B"));
    menu->addSeparator();
    QAction* cancel = menu->addAction(tr("Cancel &everything"), &session_, &Session::cancel_all);
    cancel->setShortcut(QKeySequence("Ctrl+."));
    needs_graph_ << keep << batch << cancel;
    menu->setObjectName("plan_menu");
}

void MainWindow::make_help_menu() {
    QMenu* menu = menuBar()->addMenu(tr("&Help"));
    QAction* keys = menu->addAction(theme::icon("help"), tr("&Keyboard shortcuts"), this,
                                    [this] { show_shortcuts(this, shortcuts()); });
    keys->setShortcut(Qt::Key_Question);
    QAction* commands =
        menu->addAction(theme::icon("search"), tr("Fin&d a command"), this, &MainWindow::show_commands);
    commands->setShortcut(QKeySequence("Ctrl+K"));
    QAction* messages =
        menu->addAction(tr("Earlier &messages"), this, [this] { message_bar_->show_history(); });
    messages->setObjectName("messages");
    menu->addAction(tr("&About Rematlas Explorer"), this, [this] { show_about(this); });
    // Keys without Ctrl or Alt, such as F and Esc, act on the graph. While a text field is being edited, the
    // text field gets these keys instead.
    auto* clear = new QShortcut(Qt::Key_Escape, this);
    connect(clear, &QShortcut::activated, &session_.selection, &Selection::clear);
}

void MainWindow::make_toolbar() {
    QToolBar* bar = addToolBar(tr("Tools"));
    bar->setObjectName("tools");
    bar->setMovable(false);
    bar->setIconSize(QSize(20, 20));
    bar->setContextMenuPolicy(Qt::PreventContextMenu);
    bar->addAction(findChild<QAction*>("open"));
    qobject_cast<QToolButton*>(bar->widgetForAction(findChild<QAction*>("open")))
        ->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    export_button_ = new QToolButton;
    export_button_->setIcon(theme::icon("save"));
    export_button_->setText(tr("Export"));
    export_button_->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    export_button_->setToolTip(tr("Export schedules, plans and pictures"));
    export_button_->setMenu(export_menu_);
    export_button_->setPopupMode(QToolButton::InstantPopup);
    bar->addWidget(export_button_);
    bar->addSeparator();
    for (const char* name : {"fit_width", "fit_all", "shallower", "deeper"})
        bar->addAction(findChild<QAction*>(name));
    bar->addSeparator();
    auto* label = theme::quiet_label(tr("Colour by"));
    label->setContentsMargins(4, 0, 6, 0);
    bar->addWidget(label);
    coloring_ = new QComboBox;
    coloring_->setAccessibleName(tr("Colour by"));
    // The entries must have the order of ItemColors.
    for (const QString& name :
         {tr("decision"), tr("phase"), tr("bytes at the peak"), tr("time"), tr("cost to run again")})
        coloring_->addItem(name);
    coloring_->setToolTip(
        tr("Decision: kept, recomputed or offloaded, once there is a schedule.\nPhase: forward, loss, "
           "backward, optimizer.\nBytes at the peak: of the tensors that a block made, while the most is "
           "held.\nTime: of all runs in the schedule.\nCost to run again: time for each MiB that a block "
           "makes."));
    connect(coloring_, qOverload<int>(&QComboBox::currentIndexChanged), this,
            [this](int index) { graph_page_->view().set_coloring(static_cast<ItemColors>(index)); });
    bar->addWidget(coloring_);
    addToolBarBreak();
    answer_bar_ = addToolBar(tr("Answer"));
    answer_bar_->setObjectName("answer");
    answer_bar_->setMovable(false);
    answer_bar_->setContextMenuPolicy(Qt::PreventContextMenu);
    auto* strip = new AnswerStrip(session_);
    connect(strip, &AnswerStrip::batch_requested, this, &MainWindow::ask_about_batch);
    answer_bar_->addWidget(strip);
}

void MainWindow::update_actions() {
    const bool graph = session_.graph() != nullptr;
    if (export_button_) export_button_->setEnabled(graph);
    for (QAction* action : needs_graph_) action->setEnabled(graph);
    for (QAction* action : needs_schedule_) action->setEnabled(graph && session_.schedule());
    for (QAction* action : needs_sweep_) action->setEnabled(graph && !session_.sweep.empty());
    lines_again_->setEnabled(!exported_.lines.empty());
}

void MainWindow::ask_and_open() {
    const auto is_here = [](const QString& path) { return !is_remote(path); };
    const auto last = std::find_if(recent_.paths().begin(), recent_.paths().end(), is_here);
    const QString folder = last == recent_.paths().end() ? QString() : QFileInfo(*last).absolutePath();
    const QStringList paths =
        OpenDialog::ask(this, tr("Open"), folder,
                        tr("All that can be opened (*.pt *.pt2 *.py *.graph.json *.schedule.json "
                           "*.sweep.json *.plan *.pickle *.jsonl);;Models (*.pt *.pt2 *.py);;"
                           "Training graphs (*.graph.json);;Schedules "
                           "(*.schedule.json);;Sweeps (*.sweep.json);;Plans (*.plan);;"
                           "Memory snapshots (*.pickle);;Training runs (*.jsonl)"));
    if (!paths.isEmpty()) open(paths);
}

void MainWindow::show_recent_menu() {
    recent_menu_->clear();
    for (const QString& path : recent_.paths())
        recent_menu_->addAction(python_source(path) ? tr("%1 (capture again)").arg(path) : path, this,
                                [this, path] { open({path}); });
    if (recent_.paths().isEmpty()) {
        recent_menu_->addAction(tr("No file has been opened yet"))->setEnabled(false);
        return;
    }
    recent_menu_->addSeparator();
    recent_menu_->addAction(tr("Clear the list"), &recent_, &RecentFiles::clear);
}

}  // namespace rematlas::explorer
