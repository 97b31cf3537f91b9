#include "app/explorer/jobs/background_job.h"

namespace rematlas::explorer {

BackgroundJob::~BackgroundJob() {
    for (Worker& worker : workers_) {
        *worker.dropped = true;
        worker.thread.request_stop();
    }
    workers_.clear();  // joins the threads
}

void BackgroundJob::start(Work work) {
    if (current_) {
        *current_->dropped = true;
        current_->thread.request_stop();
    }
    join_finished();
    Worker& worker = workers_.emplace_back();
    current_ = &worker;
    worker.thread = std::jthread(
        [this, dropped = worker.dropped, done = worker.done, work = std::move(work)](std::stop_token stop) {
            Delivery delivery = work(stop);
            QMetaObject::invokeMethod(
                this, [this, dropped, delivery = std::move(delivery)] { complete(*dropped, delivery); },
                Qt::QueuedConnection);
            *done = true;
        });
    emit started();
}

void BackgroundJob::cancel() {
    if (!current_) return;
    *current_->dropped = true;
    current_->thread.request_stop();
    current_ = nullptr;
    emit finished(true);
}

void BackgroundJob::stop_early() {
    if (current_) current_->thread.request_stop();
}

void BackgroundJob::post(std::stop_token stop, Delivery delivery) {
    // The comparison with the current worker is made in the owner's thread, because only that thread may read
    // `current_`.
    QMetaObject::invokeMethod(
        this,
        [this, stop = std::move(stop), delivery = std::move(delivery)] {
            if (current_ && current_->thread.get_stop_token() == stop) delivery();
        },
        Qt::QueuedConnection);
}

void BackgroundJob::complete(bool dropped, const Delivery& delivery) {
    if (!dropped) {
        current_ = nullptr;
        if (delivery) delivery();
        // If the delivery has started the next work, the job is still running. Then `finished` is emitted
        // after that work.
        if (!current_) emit finished(false);
    }
    join_finished();
}

void BackgroundJob::join_finished() {
    workers_.remove_if([this](const Worker& worker) { return &worker != current_ && *worker.done; });
}

}  // namespace rematlas::explorer
