// Watches the file of the open graph, because another program may replace or remove it.
#pragma once

#include <QDateTime>
#include <QFileSystemWatcher>
#include <QObject>
#include <QString>
#include <string>

namespace rematlas::explorer {

class GraphWatch : public QObject {
    Q_OBJECT
  public:
    enum class State { same, replaced, gone };

    GraphWatch();

    /// Watches the file at `path`, which has the digest `sha256`. Watches nothing if the path is empty.
    void watch(const QString& path, const std::string& sha256);
    State state() const { return state_; }
    const QString& path() const { return path_; }

  signals:
    /// Emitted when the file was replaced or removed, or has its first content again.
    void changed();

  private:
    void look();
    State state_now();

    QFileSystemWatcher watcher_;
    QString path_;
    std::string sha256_;
    State state_ = State::same, last_look_ = State::same;
    QDateTime looked_at_;  ///< modification time of the file when its digest was last computed
    qint64 size_ = -1;     ///< size of the file when its digest was last computed
};

}  // namespace rematlas::explorer
