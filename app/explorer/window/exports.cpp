#include <QFileDialog>
#include <QFileInfo>
#include <QStatusBar>

#include "app/explorer/docks/all_docks.h"
#include "app/explorer/models/csv_table.h"
#include "app/explorer/window/lines_dialog.h"
#include "app/explorer/window/main_window.h"
#include "app/explorer/window/view_picture.h"
#include "app/explorer/words/wording.h"
#include "core/base/files.h"
#include "core/planning/checkpoint_policy.h"
#include "core/schedule/schedule_file.h"
#include "viz/paint/draw.h"
#include "viz/report/report.h"

namespace rematlas::explorer {
namespace {

const char* const lines_setting = "lines_after_export";
const char* const picture_filter = "SVG (*.svg);;PNG (*.png);;PDF (*.pdf)";

Result<std::vector<LinesToPaste>> lines_if(const Result<void>& written, const ExportedFile& exported) {
    if (!written) return written.error();
    return lines_to_paste(exported);
}

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
    // Adds the file name ending of the chosen filter, because some desktops do not add it.
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
    export_in_background(path, [write = std::move(write)](const std::stop_token&) -> Result<Lines> {
        const Result<void> written = write();
        if (!written) return written.error();
        return Lines();
    });
}

void MainWindow::export_in_background(const QString& path,
                                      std::function<Result<Lines>(const std::stop_token&)> write) {
    show_working(tr("Writing %1").arg(QFileInfo(path).fileName()), -1);
    writing_.start([this, path, write = std::move(write)](const std::stop_token& stop) {
        return [this, path, result = write(stop)] {
            report_saved(result ? Result<void>() : Result<void>(result.error()), path);
            if (result && !result->empty()) offer_lines(path, *result);
        };
    });
}

void MainWindow::offer_lines(const QString& path, const Lines& lines) {
    exported_ = {path, lines};
    update_actions();
    if (!settings_ || settings_->value(lines_setting, true).toBool()) show_lines();
}

void MainWindow::show_lines() {
    const bool always = !settings_ || settings_->value(lines_setting, true).toBool();
    if (auto* before = findChild<LinesDialog*>()) before->close();
    auto* dialog = new LinesDialog(exported_.path, exported_.lines, always, this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &LinesDialog::always_chosen, this, [this](bool chosen) {
        if (settings_) settings_->setValue(lines_setting, chosen);
    });
    dialog->show();
}

ExportedFile MainWindow::exported_file(ExportForm form, const QString& path) const {
    const LoadedGraph& graph = *session_.graph();
    // If the graph was read from a plan's file, there is no graph file that other programs could read.
    return {.form = form,
            .file = path.toStdString(),
            .graph = &graph.graph,
            .graph_file = graph.text.empty() ? std::string() : graph.path.string()};
}

void MainWindow::export_schedule() {
    const QString path =
        ask_for_file(tr("Export the schedule"), ".schedule.json", tr("Schedules (*.schedule.json)"));
    if (path.isEmpty()) return;
    export_in_background(path,
                         [graph = session_.graph(), exported = exported_file(ExportForm::schedule, path),
                          schedule = session_.answers().with_known_bound(session_.schedule()->schedule)](
                             const std::stop_token&) mutable -> Result<Lines> {
                             exported.schedule = &schedule;
                             return lines_if(write_schedule(schedule, exported.file), exported);
                         });
}

void MainWindow::export_policy(ExportForm form) {
    const bool selectors = form == ExportForm::torchtitan;
    const QString path = selectors ? ask_for_file(tr("Export selectors for torchtitan"), ".torchtitan.txt",
                                                  tr("Texts (*.txt)"))
                                   : ask_for_file(tr("Export a policy for checkpointing"), ".policy.json",
                                                  tr("Policies (*.policy.json)"));
    if (path.isEmpty()) return;
    export_in_background(
        path,
        [graph = session_.graph(), shown = session_.schedule(), exported = exported_file(form, path),
         selectors](const std::stop_token& stop) mutable -> Result<Lines> {
            Limits limits;
            limits.stop = stop;
            const Result<CheckpointPolicy> policy =
                checkpoint_policy_for(graph->graph, shown->schedule, limits, {.by_selectors = selectors});
            if (!policy) return policy.error();
            if (stop.stop_requested()) return Error{"cancelled"};  // a cancelled export writes nothing
            exported.checkpoints = !policy->plan.regions.empty();
            return lines_if(write_file(exported.file, selectors ? torchtitan_text(graph->graph, *policy)
                                                                : policy_text(graph->graph, *policy)),
                            exported);
        });
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
    export_in_background(path,
                         [graph = session_.graph(), exported = exported_file(ExportForm::plan, path),
                          schedule = session_.answers().with_known_bound(session_.schedule()->schedule)](
                             const std::stop_token&) mutable -> Result<Lines> {
                             exported.schedule = &schedule;
                             return lines_if(write_plan(graph->text, schedule, exported.file), exported);
                         });
}

void MainWindow::save_sweep() {
    const QString path = ask_for_file(tr("Export the sweep"), ".sweep.json", tr("Sweeps (*.sweep.json)"));
    if (path.isEmpty()) return;
    export_in_background(
        path,
        [sweep = session_.sweep.sweep(), file = path.toStdString()](const std::stop_token&) -> Result<Lines> {
            return lines_if(write_sweep(sweep, file), {.form = ExportForm::sweep, .file = file});
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

/// Adds an entry for each list in the docks. The entry has the list's name for screen readers.
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
    export_in_background(path,
                         [text = csv_table(*table.model()),
                          file = path.toStdString()](const std::stop_token&) -> Result<Lines> {
                             return lines_if(write_file(file, text), {.form = ExportForm::csv, .file = file});
                         });
}

void MainWindow::export_current_view() {
    const QString path = ask_for_file(tr("Picture of the current view"), "_view.png", picture_filter);
    if (path.isEmpty()) return;
    report_saved(write_view_picture(graph_page_->view(), path.toStdString()), path);
}

}  // namespace rematlas::explorer
