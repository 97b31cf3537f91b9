// Reads the file of a training run while the file grows.
//
// If another training run overwrites the file, the file is read again from its beginning.
#pragma once

#include <QByteArray>
#include <QFile>
#include <QObject>
#include <QTimer>
#include <memory>

#include "core/planning/run_steps.h"

namespace rematlas::explorer {

class FollowedRun : public QObject {
    Q_OBJECT
  public:
    explicit FollowedRun(const QString& path);

    /// Reads the file, and then reads new lines twice a second.
    void start();
    /// Reads new lines, at most a few megabytes at a time.
    void look();
    const RunSteps& run() const;
    const QString& path() const { return path_; }

  signals:
    /// Emitted when more of the file was read.
    void grew();
    /// Emitted when the file holds another run. The steps of the earlier run are no longer in `run`.
    void began_anew();
    /// Emitted if the file cannot be read, or is no run file. Reading continues when the file is overwritten.
    void failed(const QString& message);

  private:
    bool is_written_anew(QFile& file) const;
    void begin_anew();
    void fail(const QString& message);

    QString path_;
    std::unique_ptr<RunReader> reader_;
    qint64 read_ = 0;   ///< bytes that were read
    QByteArray first_;  ///< the first bytes of the file, which differ between processes
    QByteArray last_;   ///< the last bytes that were read, which differ between runs of one process
    bool has_failed_ = false;
    QTimer timer_;
};

}  // namespace rematlas::explorer
