// The page that the window shows while no file is open. It says what the program is for and how to begin, and
// lists recent files.
#pragma once

#include <QLabel>
#include <QListWidget>
#include <QProgressBar>
#include <QWidget>

#include "app/explorer/files/recent_files.h"

namespace rematlas::explorer {

class WelcomePage : public QWidget {
    Q_OBJECT
  public:
    explicit WelcomePage(RecentFiles& recent);

    /// Shows that a file is being opened or captured. `fraction` is negative if the progress is unknown.
    void show_working(const QString& what, double fraction);
    void hide_working();

  signals:
    void cancel_requested();
    void open_requested();
    void sample_requested();
    void file_requested(const QString& path);

  private:
    QWidget* make_work_box();
    void show_recent();

    RecentFiles& recent_;
    QListWidget* list_;
    QWidget* recent_box_;
    QWidget* work_box_;
    QLabel* work_;
    QProgressBar* work_bar_;
};

}  // namespace rematlas::explorer
