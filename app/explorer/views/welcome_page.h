// What the window shows while nothing is open: what the program is for, how to begin, recent files.
#pragma once

#include <QListWidget>
#include <QWidget>

#include "app/explorer/models/recent_files.h"

namespace rematlas::explorer {

class WelcomePage : public QWidget {
    Q_OBJECT
  public:
    explicit WelcomePage(RecentFiles& recent, QWidget* parent = nullptr);

  signals:
    void open_requested();
    void file_requested(const QString& path);

  private:
    void show_recent();

    RecentFiles& recent_;
    QListWidget* list_;
    QWidget* recent_box_;
};

}  // namespace rematlas::explorer
