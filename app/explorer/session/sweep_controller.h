// A sweep in the background: points arrive as they are found, each with the steps of its schedule.
#pragma once

#include <QObject>
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "app/explorer/session/background_job.h"
#include "app/explorer/session/loaded_graph.h"
#include "app/explorer/session/loaded_schedule.h"
#include "core/planning/sweep.h"

namespace rematlas::explorer {

class SweepController : public QObject {
    Q_OBJECT
  public:
    explicit SweepController(QObject* parent = nullptr);

    void start(GraphPtr graph, std::vector<std::string> solvers, int budgets, std::chrono::milliseconds time,
               Pins pins = {});
    /// Ends the sweep; the points found so far stay.
    void stop() { job_.cancel(); }
    bool running() const { return job_.running(); }

    /// A sweep from a file; its points have no steps.
    void set_sweep(Sweep sweep);
    void clear();
    const Sweep& sweep() const { return sweep_; }
    bool empty() const { return sweep_.curves.empty(); }

  signals:
    void started();
    void changed();
    /// With its steps; also when it became better, by what was found at another budget.
    void point_found(const std::string& solver, const rematlas::SweepPoint& point);
    void progressed(int done, int total);
    void failed(const QString& message);
    void finished(bool cancelled);

  private:
    void insert(const std::string& solver, const SweepPoint& point);

    Sweep sweep_;
    int done_ = 0, total_ = 0;
    BackgroundJob job_;
};

/// The schedule behind a sweep's point. The point must hold its steps.
Schedule schedule_of(const LoadedGraph& graph, const std::string& solver, const SweepPoint& point,
                     Pins pins = {});

}  // namespace rematlas::explorer
