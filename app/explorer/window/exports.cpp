#include <QFileDialog>
#include <QFileInfo>
#include <QStatusBar>

#include "app/explorer/docks/all_docks.h"
#include "app/explorer/models/csv_table.h"
#include "app/explorer/window/main_window.h"
#include "app/explorer/window/view_picture.h"
#include "app/explorer/words/wording.h"
#include "core/base/files.h"
#include "core/schedule/schedule_file.h"
#include "viz/paint/draw.h"
#include "viz/report/report.h"

namespace rematlas::explorer {
namespace {

const char* const picture_filter = "SVG (*.svg);;PNG (*.png);;PDF (*.pdf)";

}  // namespace

QString MainWindow::base_name() const {
    const std::filesystem::path& path = session_.graph()->path;
    QString name = text(session_.graph()->graph.name);
    if (!path.empty()) name = text(path.filename().string()).section('.', 0, 0);
    const QString folder = path.has_parent_path() ? text(path.parent_path().string()) + '/' : QString();
    return folder + (name.isEmpty() ? QStringLiteral("graph") : name);
}

QString MainWindow::ask_for_file(const QString& title, const QString& ending, const QString& filter) {
    QString path = QFileDialog::getSaveFileName(this, title, base_name() + ending, filter);
    // Some desktops do not add the ending of the chosen filter.
    if (!path.isEmpty() && QFileInfo(path).suffix().isEmpty()) path += ending.mid(ending.lastIndexOf('.'));
    return path;
}

void MainWindow::report_saved(const Result<void>& result, const QString& path) {
    if (result) {
        statusBar()->showMessage(tr("Saved %1").arg(path), 8000);
        message_bar_->settle(MessageBar::About::exporting);
    } else {
        show_error(MessageBar::About::exporting, text(result.error().message));
    }
}

void MainWindow::write_in_background(const QString& path, std::function<Result<void>()> write) {
    show_working(tr("Writing %1").arg(QFileInfo(path).fileName()), -1);
    writing_.start([this, path, write = std::move(write)](std::stop_token) {
        return [this, path, result = write()] { report_saved(result, path); };
    });
}

void MainWindow::export_schedule() {
    const QString path =
        ask_for_file(tr("Export the schedule"), ".schedule.json", tr("Schedules (*.schedule.json)"));
    if (path.isEmpty()) return;
    write_in_background(path, [schedule = session_.answers().with_known_bound(session_.schedule()->schedule),
                               file = path.toStdString()] { return write_schedule(schedule, file); });
}

void MainWindow::export_plan() {
    if (session_.graph()->text.empty()) {
        show_error(
            MessageBar::About::exporting,
            tr("This graph came from a plan; export the schedule, or open the graph file itself to make "
               "another plan."));
        return;
    }
    const QString path = ask_for_file(tr("Export a plan for training"), ".plan", tr("Plans (*.plan)"));
    if (path.isEmpty()) return;
    write_in_background(path,
                        [graph = session_.graph(),
                         schedule = session_.answers().with_known_bound(session_.schedule()->schedule),
                         file = path.toStdString()] { return write_plan(graph->text, schedule, file); });
}

void MainWindow::save_sweep() {
    const QString path = ask_for_file(tr("Export the sweep"), ".sweep.json", tr("Sweeps (*.sweep.json)"));
    if (path.isEmpty()) return;
    write_in_background(path, [sweep = session_.sweep.sweep(), file = path.toStdString()] {
        return write_sweep(sweep, file);
    });
}

void MainWindow::export_graph_picture() {
    const QString path = ask_for_file(tr("Picture of the graph"), "_graph.svg", picture_filter);
    if (path.isEmpty()) return;
    write_in_background(
        path, [ladder = session_.ladder.ladder(), file = path.toStdString()]() -> Result<void> {
            if (!ladder) return Error{file + ": the graph is not laid out yet: wait until it is shown"};
            const SchedulePtr& schedule = ladder->schedule;
            return draw_view_file(ladder->graph->graph, schedule ? &schedule->schedule : nullptr,
                                  ladder->view, ladder->layout, file);
        });
}

void MainWindow::export_schedule_picture() {
    const QString path = ask_for_file(tr("Picture of the schedule"), "_schedule.svg", picture_filter);
    if (path.isEmpty()) return;
    write_in_background(path, [schedule = session_.schedule(), file = path.toStdString()] {
        return draw_schedule_file(schedule->graph->graph, schedule->schedule, file);
    });
}

void MainWindow::export_sweep_picture() {
    const QString path = ask_for_file(tr("Picture of the trade-off"), "_tradeoff.svg", picture_filter);
    if (path.isEmpty()) return;
    write_in_background(
        path, [graph = session_.graph(), sweep = session_.sweep.sweep(), file = path.toStdString()] {
            return draw_sweep_file(sweep, file, &graph->graph);
        });
}

void MainWindow::export_report() {
    const QString path = ask_for_file(tr("Report"), "_report.html", tr("Reports (*.html)"));
    if (path.isEmpty()) return;
    std::optional<Schedule> shown;
    if (session_.schedule()) shown = session_.answers().with_known_bound(session_.schedule()->schedule);
    write_in_background(path, [graph = session_.graph(), shown = std::move(shown),
                               sweep = session_.sweep.sweep(), file = path.toStdString()] {
        ReportOf of{.graph = &graph->graph, .made_by = "rematlas-explorer " REMATLAS_VERSION};
        if (shown) of.schedules = {{shown->solver, &*shown}};
        if (!sweep.curves.empty()) of.sweeps = {&sweep};
        return write_report(of, file);
    });
}

/// Each list of the docks, under the name that it has for screen readers.
void MainWindow::list_tables(QMenu& menu) {
    menu.clear();
    for (const DockEntry& entry : all_docks()) {
        for (QTreeView* table : docks_[entry.id]->findChildren<QTreeView*>()) {
            const QString title =
                table->accessibleName().isEmpty() ? docks_[entry.id]->windowTitle() : table->accessibleName();
            QAction* action = menu.addAction(tr("%1...").arg(title), table,
                                             [this, table, title] { export_table(*table, title); });
            action->setEnabled(table->model() && table->model()->rowCount() > 0);
            action->setProperty("command", tr("Export the table: %1").arg(title));
        }
    }
}

void MainWindow::export_table(const QTreeView& table, const QString& title) {
    const QString ending = '_' + title.toLower().replace(' ', '_') + ".csv";
    const QString path = ask_for_file(title, ending, tr("Tables (*.csv)"));
    if (path.isEmpty()) return;
    write_in_background(path, [text = csv_table(*table.model()), file = path.toStdString()] {
        return write_file(file, text);
    });
}

void MainWindow::export_current_view() {
    const QString path = ask_for_file(tr("Picture of the current view"), "_view.png", picture_filter);
    if (path.isEmpty()) return;
    report_saved(write_view_picture(graph_page_->view(), path.toStdString()), path);
}

}  // namespace rematlas::explorer
