// The main window: the graph in the middle and docks around it, all for one session.
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
#include <memory>

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
    /// `settings` holds the layout, recent files and input shapes, and must outlive the window. If it is
    /// null, nothing is kept, not even plans.
    explicit MainWindow(QSettings* settings, QWidget* parent = nullptr);
    ~MainWindow() override;

    /// Opens files. Models are captured after asking for their inputs; other files are read in the
    /// background.
    void open(const QStringList& paths);
    Session& session() { return session_; }
    GraphView& graph_view() { return graph_page_->view(); }
    SolvePanel& solve_panel() { return *findChild<SolvePanel*>(); }
    BlockTreeView& block_tree() { return *findChild<BlockTreeView*>(); }
    LanesView& lanes() { return *findChild<LanesView*>(); }
    PlansView& plans() { return *findChild<PlansView*>(); }
    /// Returns null if there is no dock of that name.
    QDockWidget* dock(const QString& name) const;
    QStringList dock_names() const;
    void restore_default_layout();
    /// The last error shown to the user, for tests and `--screenshot`.
    const QString& last_error() const { return last_error_; }

  protected:
    void closeEvent(QCloseEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;
    void showEvent(QShowEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

  private:
    void make_docks();
    void fit_to_screen();
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
    /// Shows an error, with a button `remedy` that calls `act`.
    void show_error(MessageBar::About about, const QString& message, const QString& remedy = {},
                    std::function<void()> act = {});
    void show_commands();
    std::vector<ShortcutGroup> shortcuts() const;
    /// Shows the dock, or the graph, and gives it the focus.
    void go_to(const QString& id);
    /// Goes to the next view that is not closed (+1), or to the one before (-1).
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
    /// Writes outside of the GUI's thread, because a picture may need a layout, and a policy a search.
    void write_in_background(const QString& path, std::function<Result<void>()> write);
    /// The same for an export; offers the lines that `write` returns to paste.
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
    PythonReader looking_;   ///< asks about a model on another machine
    RemoteHost asked_host_;  ///< the machine that `looking_` asks
    MessageBar* message_bar_;
    QStackedWidget* pages_;
    WelcomePage* welcome_;
    GraphPage* graph_page_;
    PictureOrTable* graph_or_table_;
    std::map<QString, QDockWidget*> docks_;
    std::map<QString, QWidget*> views_;  ///< the docks' views, without their tables
    QByteArray default_layout_;
    /// Layout of the docks while the welcome page hides them; empty while they are shown
    QByteArray hidden_layout_;

    QMenu* recent_menu_ = nullptr;
    QMenu* export_menu_ = nullptr;
    QToolButton* export_button_ = nullptr;
    QComboBox* coloring_ = nullptr;
    QToolBar* answer_bar_ = nullptr;
    QLabel* facts_ = nullptr;
    QLabel* work_ = nullptr;
    QProgressBar* work_bar_ = nullptr;
    QToolButton* work_cancel_ = nullptr;
    QList<QAction*> needs_graph_, needs_schedule_, needs_sweep_;
    QAction* lines_again_ = nullptr;
    struct {
        QString path;
        Lines lines;  ///< empty: nothing was exported yet
    } exported_;      ///< the last export
    QString last_error_;
    bool shown_ = false;
    bool has_own_layout_ = false;  ///< the layout of docks is from an earlier window
    bool narrow_ = false;          ///< neighbouring docks share their place as tabs
};

}  // namespace rematlas::explorer
