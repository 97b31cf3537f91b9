#include "app/explorer/files/followed_run.h"

#include <chrono>

#include "app/explorer/words/wording.h"

namespace rematlas::explorer {
namespace {

constexpr std::chrono::milliseconds between_looks{500};
constexpr qint64 most_at_once = 4 << 20;  ///< bytes in one read; a larger read would block the window
constexpr qint64 most_compared = 512;     ///< maximum number of compared bytes, at the beginning and at the
                                          ///< end

}  // namespace

FollowedRun::FollowedRun(const QString& path) : path_(path) {
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
    last_.clear();
    has_failed_ = false;
}

/// Says whether the file was overwritten. Compares the first bytes, which differ between processes, and the
/// last bytes that were read. These contain step times, so they differ between runs of one process.
bool FollowedRun::is_written_anew(QFile& file) const {
    if (file.size() < read_ || file.peek(first_.size()) != first_) return true;
    return file.seek(read_ - last_.size()) && file.peek(last_.size()) != last_;
}

void FollowedRun::look() {
    QFile file(path_);
    if (!file.open(QIODevice::ReadOnly)) {
        // Between two runs the file can be missing for a moment, which is no error.
        if (read_ == 0 && !has_failed_) fail(tr("%1: cannot be read").arg(path_));
        return;
    }
    if (is_written_anew(file)) {
        begin_anew();
        emit began_anew();
    }
    if (has_failed_ || !file.seek(0)) return;
    if (first_.size() < most_compared) first_ = file.peek(most_compared);
    if (!file.seek(read_)) return;
    const QByteArray bytes = file.read(most_at_once);
    if (bytes.isEmpty()) return;
    read_ += bytes.size();
    last_ = (last_ + bytes).right(most_compared);
    const std::size_t runs = reader_->runs();
    if (const Result<void> added = reader_->add({bytes.constData(), static_cast<std::size_t>(bytes.size())});
        !added)
        return fail(text(added.error().message));
    if (runs > 0 && reader_->runs() > runs)
        emit began_anew();
    else
        emit grew();
    if (read_ < file.size()) QTimer::singleShot(0, this, &FollowedRun::look);
}

void FollowedRun::fail(const QString& message) {
    has_failed_ = true;
    emit failed(message);
}

}  // namespace rematlas::explorer
