// Solves in the background. Reports the progress and the best schedule so far, can be cancelled, and explains
// in plain words why there is no schedule.
#pragma once

#include <QList>
#include <QObject>
#include <QPair>
#include <QString>
#include <atomic>
#include <functional>
#include <memory>

#include "app/explorer/jobs/background_job.h"
#include "app/explorer/jobs/remote_host.h"
#include "app/explorer/loaded/loaded_schedule.h"
#include "core/planning/request.h"

namespace rematlas::explorer {

/// Explains to users why there is no schedule: a headline, the place where the memory is needed, and the
/// tensors that fill the memory there.
struct NoScheduleReport {
    QString headline;
    QString place;                            ///< which op needs the memory, or that the results need it
    QList<QPair<QString, QString>> heaviest;  ///< names and bytes of the heaviest tensors
    QString rest;                             ///< a line on the tensors that are not in the list
    Bytes needed;
    ScheduleClass over = ScheduleClass::any_order;  ///< `needed` is a bound for all schedules of this class
    bool proven = false;
    OpId op;
    std::vector<TensorId> dominant;
};
NoScheduleReport explain(const LoadedGraph& graph, Bytes budget, const Infeasible& infeasible);

/// Runs one solver at a time. If a solver is started while another solver runs, the new solver replaces the
/// running solver. Signals are emitted in the owner's thread. A solver that is cancelled or replaced still
/// delivers its best schedule so far, by the signal `left`.
class SolveController : public QObject {
    Q_OBJECT
  public:
    SolveController();

    /// Starts a solver. The controller sets the stop token and the cache of the request.
    void solve(GraphPtr graph, SolveRequest request);
    /// Sets the machine on which solvers run from now on; nullopt for this machine.
    void set_host(std::optional<RemoteHost> host) { host_ = std::move(host); }
    const std::optional<RemoteHost>& host() const { return host_; }
    /// Ends the solver early. Its best schedule so far is delivered as the result.
    void finish_early();
    /// Says whether `finish_early` was called for the last solve.
    bool was_finished_early() const { return was_finished_early_; }
    /// Cancels the solver. Afterwards no signal except `left` and `finished` arrives.
    void cancel();
    bool running() const { return job_.running(); }

    /// Replaces the solvers by a function, for tests.
    using SolveFunction =
        std::function<Result<Outcome>(const LoadedGraph&, const SolveRequest&, const Progress&)>;
    void set_solve_function(SolveFunction function) { solve_ = std::move(function); }

  signals:
    void started();
    /// Emitted when the running solver has found a better schedule or a better bound. `bound` is negative if
    /// no bound is known.
    void improved(double overhead, qint64 peak, double bound, double fraction);
    void solved(rematlas::explorer::SchedulePtr schedule);
    /// Emitted with the best schedule of a solver that was cancelled or replaced.
    void left(rematlas::explorer::SchedulePtr schedule);
    /// `smallest_found`: the smallest peak of a schedule that was found, in bytes; -1 if none was found.
    void infeasible(const rematlas::explorer::NoScheduleReport& report, qint64 smallest_found);
    void failed(const QString& message);
    void finished(bool cancelled);

  private:
    SolveFunction solve_;
    std::optional<RemoteHost> host_;
    bool was_finished_early_ = false;
    std::shared_ptr<std::atomic<bool>> is_dropped_;  ///< whether the running solver was cancelled or replaced
    BackgroundJob job_;
};

/// Finds the smallest budget for which a schedule is known, so that the slider can start there.
class SmallestBudgetProbe : public QObject {
    Q_OBJECT
  public:
    void start(GraphPtr graph);
    void cancel() { job_.cancel(); }
    bool running() const { return job_.running(); }

  signals:
    void found(qint64 bytes);

  private:
    BackgroundJob job_;
};

}  // namespace rematlas::explorer

Q_DECLARE_METATYPE(rematlas::explorer::SchedulePtr)
