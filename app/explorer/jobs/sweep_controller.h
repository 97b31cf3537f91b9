// Runs a sweep in the background. Points arrive as they are found, each with the steps of its schedule.
#pragma once

#include <QObject>
#include <chrono>
#include <string>
#include <vector>

#include "app/explorer/jobs/background_job.h"
#include "app/explorer/loaded/loaded_graph.h"
#include "app/explorer/loaded/loaded_schedule.h"
#include "core/planning/sweep.h"

namespace rematlas::explorer {

/// A point of a sweep, with the solver that found it and the copies that were allowed.
struct SweptPoint {
    std::string solver;
    Copies copies;
    SweepPoint point;
};

class SweepController : public QObject {
    Q_OBJECT
  public:
    SweepController();

    void start(GraphPtr graph, std::vector<std::string> solvers, int budgets, std::chrono::milliseconds time,
               Pins pins = {}, std::vector<Copies> copies = {Copies{}});
    /// Ends the sweep; the points found so far stay.
    void stop() { job_.cancel(); }
    bool running() const { return job_.running(); }

    /// Shows this sweep. Points of a sweep from a file have no steps.
    void set_sweep(Sweep sweep);
    /// Raises the bound of each point to the bound that `known` has for the same budget, copies and pins, if
    /// that bound is higher.
    void raise_bounds(const Graph& graph, const KnownAnswers& known);
    void clear();
    const Sweep& sweep() const { return sweep_; }
    bool empty() const { return sweep_.curves.empty(); }

  signals:
    void started();
    void changed();
    /// Emitted for each new point, with its steps. At the end of the sweep, emitted again for all points.
    /// Some points then have a better schedule, which was found for another budget.
    void point_found(const rematlas::explorer::SweptPoint& found);
    void progressed(int done, int total);
    void failed(const QString& message);
    void finished(bool cancelled);

  private:
    void insert(const SweptPoint& found);

    Sweep sweep_;
    int done_ = 0, total_ = 0;
    BackgroundJob job_;
};

/// Returns the schedule of a sweep's point. The point must contain its steps.
Schedule schedule_of(const LoadedGraph& graph, const SweptPoint& found, Pins pins = {});

}  // namespace rematlas::explorer
