// What another batch size would need and cost, and the largest one that a budget allows. The model is
// captured at other sizes, in processes of their own; nothing that is open changes.
#pragma once

#include <QObject>
#include <QString>
#include <cstdint>
#include <memory>
#include <optional>

#include "app/explorer/jobs/background_job.h"
#include "app/explorer/jobs/capture_controller.h"
#include "app/explorer/loaded/loaded_graph.h"
#include "core/schedule/schedule.h"

namespace rematlas::explorer {

struct BatchQuestion {
    CaptureRequest capture;  ///< inputs with B for the batch; `output` says nothing
    Bytes budget;
    std::optional<double> max_overhead;  ///< 1.25: at most a quarter more time; none: any
    std::int64_t batch = 0;              ///< this one; 0: the largest
};

struct BatchAnswer {
    std::int64_t batch = 0;              ///< that it is about; 0: not even one example fits
    QString headline, detail;            ///< for people
    std::shared_ptr<Graph> graph;        ///< as it was captured at that size
    std::shared_ptr<Schedule> schedule;  ///< within the budget and the overhead; null: none was found
};

/// The question as far as the graph tells it: where its model lies, with which inputs and for which device it
/// was captured. Empty parts where it does not say so, such as for graphs that were captured in Python.
BatchQuestion question_about(const LoadedGraph& graph);

/// The batch size of the graph; 0 where its inputs do not tell.
std::int64_t batch_of(const LoadedGraph& graph);

class BatchController : public QObject {
    Q_OBJECT
  public:
    explicit BatchController(QObject* parent = nullptr);

    /// Errors come as `failed`: no input with a B, a capture that fails, no program to capture with.
    void ask(BatchQuestion question);
    void cancel() { job_.cancel(); }
    bool running() const { return job_.running(); }

  signals:
    void started();
    void progressed(const QString& what);  ///< "capturing a batch of 16"
    void answered(const rematlas::explorer::BatchAnswer& answer);
    void failed(const QString& message);
    void finished(bool cancelled);

  private:
    BackgroundJob job_;
};

/// Writes the answer's graph beside the model, and its schedule beside the graph, under names that are free.
/// The files, graph first. Errors: what cannot be written.
Result<QStringList> keep_answer(BatchAnswer& answer, const QString& model);

}  // namespace rematlas::explorer
