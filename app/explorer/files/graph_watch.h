// Watches the file of the graph that is open: another program may replace it or take it away.
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

    explicit GraphWatch(QObject* parent = nullptr);

    /// Watches this file, which has this digest. An empty path: nothing.
    void watch(const QString& path, const std::string& sha256);
    State state() const { return state_; }
    const QString& path() const { return path_; }

  signals:
    /// The file is another one, is gone, or is the same again.
    void changed();

  private:
    void look();
    State state_now();

    QFileSystemWatcher watcher_;
    QString path_;
    std::string sha256_;
    State state_ = State::same, last_look_ = State::same;
    QDateTime looked_at_;  ///< the time of the file whose digest was taken last
    qint64 size_ = -1;     ///< of this file
};

}  // namespace rematlas::explorer
