// Solving in the background: progress, incumbents, cancel, and answers in plain words.
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

/// Why there is no schedule, for people: one headline, then where the memory is needed and the tensors that
/// fill it.
struct NoScheduleReport {
    QString headline;
    QString place;                            ///< which op needs the memory, or that the results do
    QList<QPair<QString, QString>> heaviest;  ///< tensor and bytes
    QString rest;                             ///< what is not in the list
    Bytes needed;
    ScheduleClass over = ScheduleClass::any_order;  ///< whose schedules all need so much
    bool proven = false;
    OpId op;
    std::vector<TensorId> dominant;
};
NoScheduleReport explain(const LoadedGraph& graph, Bytes budget, const Infeasible& infeasible);

/// One at a time; starting again replaces what runs. Signals arrive on the owner's thread. A solver that is
/// cancelled or replaced hands over what it has found by `left`.
class SolveController : public QObject {
    Q_OBJECT
  public:
    explicit SolveController(QObject* parent = nullptr);

    /// Its stop token is the controller's.
    void solve(GraphPtr graph, SolveRequest request);
    /// Solvers run there from now on; nothing: on this machine.
    void set_host(std::optional<RemoteHost> host) { host_ = std::move(host); }
    const std::optional<RemoteHost>& host() const { return host_; }
    /// The solver is asked for its best so far, which still arrives.
    void finish_early();
    /// Whether the answer that came last was asked for before its time was over.
    bool was_finished_early() const { return was_finished_early_; }
    /// Nothing arrives any more but `left`.
    void cancel();
    bool running() const { return job_.running(); }

    /// Tests replace the solvers with this.
    using SolveFunction =
        std::function<Result<Outcome>(const LoadedGraph&, const SolveRequest&, const Progress&)>;
    void set_solve_function(SolveFunction function) { solve_ = std::move(function); }

  signals:
    void started();
    void improved(double overhead, qint64 peak, double bound, double fraction);  ///< bound < 0: none known
    void solved(rematlas::explorer::SchedulePtr schedule);
    void left(rematlas::explorer::SchedulePtr schedule);  ///< the best so far of one that was not waited for
    void infeasible(const rematlas::explorer::NoScheduleReport& report, qint64 smallest_found);  ///< -1: none
    void failed(const QString& message);
    void finished(bool cancelled);

  private:
    SolveFunction solve_;
    std::optional<RemoteHost> host_;
    bool was_finished_early_ = false;
    std::shared_ptr<std::atomic<bool>> is_dropped_;  ///< whether nobody waits for what runs now
    BackgroundJob job_;
};

/// Finds the smallest budget for which a schedule is known, so that the slider starts where schedules begin
/// to exist.
class SmallestBudgetProbe : public QObject {
    Q_OBJECT
  public:
    explicit SmallestBudgetProbe(QObject* parent = nullptr);
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
