// Runs long work of one kind in a thread that is not the GUI's thread.
//
//     job.start([this, graph](std::stop_token stop) {
//         Answer answer = solve(*graph, stop);          // worker's thread
//         return [this, answer] { show(answer); };      // owner's thread, unless cancelled or replaced
//     });
//
// `start` cancels the work that runs and replaces it. The destructor cancels the work and waits for its
// thread, so the work never outlives the objects that it refers to. Only the owner's thread may call the
// public functions, except `post`.
#pragma once

#include <QObject>
#include <atomic>
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

    ~BackgroundJob() override;

    void start(Work work);
    /// Asks the work to stop and drops its result. `finished` is emitted at once.
    void cancel();
    /// Asks the work to stop, but still delivers its result. Meant for solvers, which then return their best
    /// schedule so far.
    void stop_early();
    bool running() const { return current_ != nullptr; }

    /// Runs `delivery` later in the owner's thread, if the work with the token `stop` is then still the
    /// current work. May be called from the worker's thread.
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
