#include "app/explorer/jobs/solve_controller.h"

#include <algorithm>

#include "app/explorer/jobs/remote_solve.h"
#include "app/explorer/words/wording.h"
#include "core/base/files.h"
#include "core/planning/sweep.h"

namespace rematlas::explorer {
namespace {

Result<Outcome> solve_with_core(const LoadedGraph& graph, const SolveRequest& request,
                                const Progress& progress) {
    return rematlas::solve(Problem{graph.graph, graph.flat}, request, progress);
}

/// Passes on only some of the reports. A solver that improves thousands of times a second would fill the
/// queue of the GUI otherwise.
class ThrottledProgress {
  public:
    explicit ThrottledProgress(std::function<void(const ProgressReport&)> show) : show_(std::move(show)) {}
    void operator()(const ProgressReport& incumbent) {
        const auto now = std::chrono::steady_clock::now();
        if (now - last_ < std::chrono::milliseconds(40)) return;
        last_ = now;
        show_(incumbent);
    }

  private:
    std::function<void(const ProgressReport&)> show_;
    std::chrono::steady_clock::time_point last_{};
};

constexpr std::size_t most_shown = 6;

QString place_of(const LoadedGraph& graph, const Infeasible& infeasible) {
    if (!graph.graph.ops.contains(infeasible.op))
        return SolveController::tr("The results of the step must all be there when it ends:");
    const Op& op = graph.graph.ops[infeasible.op];
    const QString where = op.module.empty() ? QString() : SolveController::tr(", in %1").arg(text(op.module));
    return SolveController::tr("The memory is needed by %1 (op %2, %3%4):")
        .arg(text(op.name))
        .arg(infeasible.op.value)
        .arg(phase_text(op.phase), where);
}

QString rest_of(const LoadedGraph& graph, const Infeasible& infeasible) {
    QStringList lines;
    if (infeasible.dominant.size() > most_shown) {
        Bytes others;
        for (std::size_t i = most_shown; i < infeasible.dominant.size(); ++i)
            others += graph.graph.tensors[infeasible.dominant[i]].bytes;
        lines << SolveController::tr("%1 smaller ones take %2.")
                     .arg(infeasible.dominant.size() - most_shown)
                     .arg(bytes_text(others));
    }
    if (graph.flat.resident_bytes > 0) {
        lines << SolveController::tr("%1 of parameters, buffers and inputs stay all the time.")
                     .arg(bytes_text(Bytes(graph.flat.resident_bytes)));
    }
    return lines.join(' ');
}

}  // namespace

NoScheduleReport explain(const LoadedGraph& graph, Bytes budget, const Infeasible& infeasible) {
    NoScheduleReport report{.headline = {},
                            .place = {},
                            .heaviest = {},
                            .rest = {},
                            .needed = infeasible.needed,
                            .over = infeasible.over,
                            .proven = infeasible.proven,
                            .op = infeasible.op,
                            .dominant = infeasible.dominant};
    if (infeasible.proven) {
        report.headline = SolveController::tr("No schedule fits in %1: at least %2 are needed, %3 more.")
                              .arg(bytes_text(budget), bytes_text(infeasible.needed),
                                   bytes_text(infeasible.needed - budget));
    } else {
        report.headline =
            SolveController::tr("This solver found no schedule within %1.").arg(bytes_text(budget));
        if (infeasible.smallest_found) {
            report.headline +=
                SolveController::tr(" It got down to %1.").arg(bytes_text(*infeasible.smallest_found));
        }
        report.headline += SolveController::tr(" No schedule at all can need less than %1.")
                               .arg(bytes_text(infeasible.needed));
    }
    if (infeasible.under_pins && infeasible.without_pins)
        report.headline +=
            SolveController::tr(
                " This is under the pins: under them %1 is known to be enough, without them %2.")
                .arg(precise_bytes(*infeasible.under_pins), bytes_text(*infeasible.without_pins));
    if (!infeasible.dominant.empty()) report.place = place_of(graph, infeasible);
    for (std::size_t i = 0; i < std::min(infeasible.dominant.size(), most_shown); ++i) {
        const TensorId tensor = infeasible.dominant[i];
        report.heaviest << qMakePair(tensor_name(graph, tensor),
                                     bytes_text(graph.graph.tensors[tensor].bytes));
    }
    report.rest = rest_of(graph, infeasible);
    return report;
}

SolveController::SolveController() : solve_(solve_with_core) {
    qRegisterMetaType<SchedulePtr>();
    connect(&job_, &BackgroundJob::finished, this, &SolveController::finished);
}

void SolveController::finish_early() {
    was_finished_early_ = true;
    job_.stop_early();
}

void SolveController::cancel() {
    if (is_dropped_) *is_dropped_ = true;
    job_.cancel();
}

void SolveController::solve(GraphPtr graph, SolveRequest request) {
    was_finished_early_ = false;
    if (is_dropped_) *is_dropped_ = true;
    is_dropped_ = std::make_shared<std::atomic<bool>>(false);
    job_.start([this, graph = std::move(graph), request = std::move(request), solve = solve_, host = host_,
                is_dropped = is_dropped_](std::stop_token stop) mutable {
        request.limits.stop = stop;
        request.limits.cache = cache_folder();
        ThrottledProgress progress([this, stop](const ProgressReport& i) {
            job_.post(stop, [this, i] {
                emit improved(i.overhead, i.peak.value, i.bound.value_or(-1), i.fraction_done);
            });
        });
        Result<Outcome> outcome =
            host ? solve_there(*host, *graph, request) : solve(*graph, request, std::ref(progress));
        if (!outcome) {
            return BackgroundJob::Delivery(
                [this, message = text(outcome.error().message)] { emit failed(message); });
        }
        if (auto* none = std::get_if<Infeasible>(&outcome->answer)) {
            const qint64 smallest = none->smallest_found ? none->smallest_found->value : -1;
            return BackgroundJob::Delivery([this, report = explain(*graph, outcome->budget, *none),
                                            smallest] { emit infeasible(report, smallest); });
        }
        SchedulePtr schedule = prepare_schedule(graph, std::get<Schedule>(std::move(outcome->answer)));
        if (*is_dropped)
            QMetaObject::invokeMethod(
                this, [this, schedule] { emit left(schedule); }, Qt::QueuedConnection);
        return BackgroundJob::Delivery([this, schedule] { emit solved(schedule); });
    });
    emit started();
}

void SmallestBudgetProbe::start(GraphPtr graph) {
    job_.start([this, graph = std::move(graph)](std::stop_token stop) {
        const Limits limits{.time = std::chrono::milliseconds(1500), .stop = stop, .cache = cache_folder()};
        const std::int64_t smallest = smallest_known_budget(Problem{graph->graph, graph->flat}, limits).value;
        return BackgroundJob::Delivery([this, smallest] { emit found(smallest); });
    });
}

}  // namespace rematlas::explorer
