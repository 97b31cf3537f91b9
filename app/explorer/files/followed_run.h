// A file of a training run that is read while it grows.
//
// A file that is written anew (another training run under the same name) is followed from its begin again.
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

    /// Reads what is there, and looks twice a second for what has come since.
    void start();
    /// Reads what has come since, at most a few megabytes at a time.
    void look();
    const RunSteps& run() const;
    const QString& path() const { return path_; }

  signals:
    /// Steps came to those there were, or lines that were skipped.
    void grew();
    /// The run is another one.
    void began_anew();
    /// The file cannot be read, or is no run. It is followed again once it is written anew.
    void failed(const QString& message);

  private:
    bool is_written_anew(QFile& file) const;
    void begin_anew();
    void fail(const QString& message);

    QString path_;
    std::unique_ptr<RunReader> reader_;
    qint64 read_ = 0;   ///< bytes
    QByteArray first_;  ///< the first bytes of the file, which tell one run from the next
    QByteArray last_;   ///< the last bytes that were read, for a run whose header is the same
    bool has_failed_ = false;
    QTimer timer_;
};

}  // namespace rematlas::explorer
