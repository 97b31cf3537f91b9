#include "app/explorer/files/followed_run.h"

#include <algorithm>
#include <chrono>

#include "app/explorer/words/wording.h"

namespace rematlas::explorer {
namespace {

constexpr std::chrono::milliseconds between_looks{500};
constexpr qint64 most_at_once = 4 << 20;  ///< bytes: more would hold up the window
constexpr qint64 most_compared = 512;     ///< bytes of the header

}  // namespace

FollowedRun::FollowedRun(const QString& path, QObject* parent) : QObject(parent), path_(path) {
    begin_anew();
    timer_.setInterval(between_looks);
    connect(&timer_, &QTimer::timeout, this, &FollowedRun::look);
}

void FollowedRun::start() {
    timer_.start();
    look();
}

const RunSteps& FollowedRun::run() const {
    return reader_->run();
}

void FollowedRun::begin_anew() {
    reader_ = std::make_unique<RunReader>(path_.toStdString());
    read_ = 0;
    first_.clear();
}

/// The header names the process, so that it differs from one run to the next.
bool FollowedRun::is_written_anew(QFile& file) const {
    return file.size() < read_ || file.peek(first_.size()) != first_;
}

void FollowedRun::look() {
    QFile file(path_);
    if (!file.open(QIODevice::ReadOnly)) {
        // Between two runs there may be no file for a moment.
        if (read_ == 0) stop(tr("%1: cannot be read").arg(path_));
        return;
    }
    if (is_written_anew(file)) {
        begin_anew();
        emit began_anew();
    }
    if (first_.size() < most_compared) first_ = file.peek(most_compared);
    if (!file.seek(read_)) return;
    const QByteArray bytes = file.read(most_at_once);
    if (bytes.isEmpty()) return;
    read_ += bytes.size();
    if (const Result<void> added = reader_->add({bytes.constData(), static_cast<std::size_t>(bytes.size())});
        !added)
        return stop(text(added.error().message));
    emit grew();
    if (read_ < file.size()) QTimer::singleShot(0, this, &FollowedRun::look);
}

void FollowedRun::stop(const QString& message) {
    timer_.stop();
    emit failed(message);
}

}  // namespace rematlas::explorer
