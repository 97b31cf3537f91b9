// Reads the file of a training run while the file grows.
//
// If another training run overwrites the file, it is followed from its begin again.
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
    explicit FollowedRun(const QString& path, QObject* parent = nullptr);

    /// Reads the file, and then reads new lines twice a second.
    void start();
    /// Reads new lines, at most a few megabytes at a time.
    void look();
    const RunSteps& run() const;
    const QString& path() const { return path_; }

  signals:
    /// New steps, or new lines that were skipped, were read.
    void grew();
    /// The file now holds another run: all steps of before are gone from `run`.
    void began_anew();
    /// The file cannot be read, or is no run file. It is followed again once it is overwritten.
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
