// The main window: the graph in the middle and docks around it. The graph and the docks show one session.
#pragma once

#include <QActionGroup>
#include <QComboBox>
#include <QDockWidget>
#include <QLabel>
#include <QMainWindow>
#include <QProgressBar>
#include <QSettings>
#include <QStackedWidget>
#include <QToolBar>
#include <QToolButton>
#include <QTreeView>
#include <functional>
#include <map>

#include "app/explorer/docks/block_tree_view.h"
#include "app/explorer/docks/lanes_view.h"
#include "app/explorer/docks/plans_view.h"
#include "app/explorer/docks/solve_panel.h"
#include "app/explorer/files/model_file.h"
#include "app/explorer/files/recent_files.h"
#include "app/explorer/graph/graph_page.h"
#include "app/explorer/jobs/python_survey.h"
#include "app/explorer/look/picture_or_table.h"
#include "app/explorer/session/session.h"
#include "app/explorer/window/about.h"
#include "app/explorer/window/message_bar.h"
#include "app/explorer/window/welcome_page.h"
#include "core/planning/lines_to_paste.h"

namespace rematlas::explorer {

class MainWindow : public QMainWindow {
    Q_OBJECT
  public:
    /// `settings` holds the layout, recent files and inputs of models. It must outlive the window. If it is
    /// null, nothing is kept, not even plans.
    explicit MainWindow(QSettings* settings);
    ~MainWindow() override;

    /// Opens files. A model is captured first; for this a dialog asks for its inputs. Other files are read in
    /// the background.
    void open(const QStringList& paths);
    Session& session() { return session_; }
    GraphView& graph_view() { return graph_page_->view(); }
    SolvePanel& solve_panel() { return *findChild<SolvePanel*>(); }
    BlockTreeView& block_tree() { return *findChild<BlockTreeView*>(); }
    LanesView& lanes() { return *findChild<LanesView*>(); }
    PlansView& plans() { return *findChild<PlansView*>(); }
    /// Returns the dock with this name; null if there is none.
    QDockWidget* dock(const QString& name) const;
    QStringList dock_names() const;
    void restore_default_layout();
    /// Returns the last error that was shown to the user. Tests and `--screenshot` read it.
    const QString& last_error() const { return last_error_; }

  protected:
    void closeEvent(QCloseEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;
    void showEvent(QShowEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

  private:
    void make_docks();
    void arrange_docks();
    void resize_docks();
    void make_actions();
    void make_file_menu();
    void make_export_menu(QMenu& menu);
    void make_view_menu();
    void make_solve_menu();
    void make_theme_menu(QMenu& menu);
    void make_go_menu(QMenu& menu);
    void make_help_menu();
    void make_toolbar();
    void make_status_bar();
    void connect_session();

    void ask_and_open();
    void ask_and_open_remote();
    void open_sample();
    void capture_model(const QString& path);
    void capture_function(const PythonSource& source);
    void ask_about_model(const RemoteFile& file);
    void capture_there(const PythonSurvey& survey);
    void show_help(const QString& path, const ModelFile& file);
    void show_measurement(const QString& path);
    void follow_run(const QString& path);
    void tell_of_file();
    bool may_lose_plans();
    void take_best_so_far();
    void show_no_schedule(const QString& headline);
    void ask_about_batch();
    void show_recent_menu();
    void show_graph();
    QString setting(const QString& name) const;
    void hide_docks();
    void bring_docks_back();
    /// Shows an error. If `remedy` is not empty, a button with this title calls `act`.
    void show_error(MessageBar::About about, const QString& message, const QString& remedy = {},
                    std::function<void()> act = {});
    void show_commands();
    std::vector<ShortcutGroup> shortcuts() const;
    /// Shows the dock, or the graph, with this name and gives it the focus.
    void go_to(const QString& id);
    /// Moves the focus to the next view that is not closed (+1), or to the previous one (-1).
    void cycle(int direction);
    QWidget* view_with_focus() const;
    void show_working(const QString& what, double fraction);
    void show_quiet_state();
    void update_actions();

    void export_schedule();
    void export_plan();
    void export_policy(ExportForm form);
    void export_graph_picture();
    void export_schedule_picture();
    void export_sweep_picture();
    void export_current_view();
    void export_report();
    void list_tables(QMenu& menu);
    void export_table(const QTreeView& table, const QString& title);
    void save_sweep();
    QString ask_for_file(const QString& title, const QString& suggested_ending, const QString& filter);
    using Lines = std::vector<LinesToPaste>;
    /// Calls `write` outside of the GUI's thread, because a picture may need a layout, and a policy may need
    /// a search. `path`: the file, for messages.
    void write_in_background(const QString& path, std::function<Result<void>()> write);
    /// Calls `write` for an export, as `write_in_background` does. Afterwards shows the lines that `write`
    /// returned, for the user to paste.
    void export_in_background(const QString& path,
                              std::function<Result<Lines>(const std::stop_token&)> write);
    void offer_lines(const QString& path, const Lines& lines);
    void show_lines();
    ExportedFile exported_file(ExportForm form, const QString& path) const;
    void report_saved(const Result<void>& result, const QString& path);
    QString base_name() const;

    QSettings* settings_;
    Session session_;
    RecentFiles recent_;
    BackgroundJob writing_;
    PythonReader looking_;   ///< asks another machine about a model's file
    RemoteHost asked_host_;  ///< the machine that `looking_` asks
    MessageBar* message_bar_;
    QStackedWidget* pages_;
    WelcomePage* welcome_;
    GraphPage* graph_page_;
    PictureOrTable* graph_or_table_;
    std::map<QString, QDockWidget*> docks_;
    std::map<QString, QWidget*> views_;  ///< the views in the docks; for a PictureOrTable, the picture in it
    QByteArray default_layout_;
    /// The layout of the docks, kept while the welcome page hides them. It is empty while they are shown
    QByteArray hidden_layout_;

    QMenu* recent_menu_ = nullptr;
    QMenu* export_menu_ = nullptr;
    QToolButton* export_button_ = nullptr;
    QComboBox* coloring_ = nullptr;
    QToolBar* answer_bar_ = nullptr;
    QLabel* facts_ = nullptr;
    QLabel* work_ = nullptr;
    QProgressBar* work_bar_ = nullptr;
    QList<QWidget*> work_widgets_;  ///< shown while something is going on
    QList<QAction*> needs_graph_, needs_schedule_, needs_sweep_;
    QAction* lines_again_ = nullptr;
    struct {
        QString path;
        Lines lines;  ///< empty if nothing was exported yet
    } exported_;      ///< the last export
    QString last_error_;
    bool shown_ = false;
    bool has_own_layout_ = false;  ///< whether the layout of the docks comes from an earlier window
    bool narrow_ = false;          ///< whether neighbouring docks are tabs of one place
};

}  // namespace rematlas::explorer
