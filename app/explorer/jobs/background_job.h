// One kind of long work off the GUI thread.
//
//     job.start([graph](std::stop_token stop) {
//         Answer answer = solve(*graph, stop);          // worker's thread
//         return [this, answer] { show(answer); };      // owner's thread, unless cancelled or replaced
//     });
//
// Starting again cancels and replaces what runs. Destroying the job cancels it and waits for its thread, so
// that nothing outlives the objects that the work refers to. All public functions are for the owner's thread
// except `post`.
#pragma once

#include <QObject>
#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <stop_token>
#include <thread>

namespace rematlas::explorer {

class BackgroundJob : public QObject {
    Q_OBJECT
  public:
    using Delivery = std::function<void()>;
    using Work = std::function<Delivery(std::stop_token)>;

    explicit BackgroundJob(QObject* parent = nullptr);
    ~BackgroundJob() override;

    void start(Work work);
    /// The work is asked to stop; what it returns is dropped. `finished` follows at once.
    void cancel();
    /// The work is asked to stop, but what it returns is still delivered: for solvers that return their best
    /// so far.
    void stop_early();
    bool running() const { return current_ != nullptr; }

    /// From the worker's thread: `delivery` runs on the owner's thread unless the work that `stop` belongs to
    /// was cancelled.
    void post(std::stop_token stop, Delivery delivery);

  signals:
    void started();
    void finished(bool cancelled);

  private:
    struct Worker {
        std::shared_ptr<std::atomic<bool>> dropped = std::make_shared<std::atomic<bool>>(false);
        std::shared_ptr<std::atomic<bool>> done = std::make_shared<std::atomic<bool>>(false);
        std::jthread thread;
    };
    void join_finished();
    void complete(bool dropped, const Delivery& delivery);

    std::list<Worker> workers_;
    Worker* current_ = nullptr;
};

}  // namespace rematlas::explorer
