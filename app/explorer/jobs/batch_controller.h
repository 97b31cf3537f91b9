// Finds out what another batch size would need and cost, and which is the largest batch size that a budget
// allows. For this the model is captured at other sizes, in separate processes. Nothing that is open in the
// window changes.
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
    CaptureRequest capture;  ///< its inputs have the letter B for the batch size; its `output` is ignored
    Bytes budget;
    std::optional<double> max_overhead;  ///< 1.25 allows a quarter more time; nullopt for no limit
    std::int64_t batch = 0;              ///< the batch size to ask about; 0 asks for the largest
};

struct BatchAnswer {
    std::int64_t batch = 0;  ///< the batch size; 0 if not even one example fits
    QString headline, detail;
    std::shared_ptr<Graph> graph;        ///< the graph that was captured at `batch`; null if `batch` is 0
    std::shared_ptr<Schedule> schedule;  ///< a schedule within budget and overhead; null if none was found
};

/// Returns a question with the settings that the graph states: the file of its model, and the inputs, device,
/// loss and optimizer of its capture. Settings that the graph does not state keep their defaults, for example
/// if the graph was captured in Python.
BatchQuestion question_about(const LoadedGraph& graph);

/// Returns the batch size of the graph, or 0 if it cannot be derived from the graph's inputs.
std::int64_t batch_of(const LoadedGraph& graph);

class BatchController : public QObject {
    Q_OBJECT
  public:
    BatchController();

    /// Answers the question in the background. Emits `failed` if no input has the letter B, if a capture
    /// fails, or if there is no program that captures.
    void ask(BatchQuestion question);
    void cancel() { job_.cancel(); }
    bool running() const { return job_.running(); }

  signals:
    void started();
    void progressed(const QString& what);  ///< for example "Capturing a batch of 16"
    void answered(const rematlas::explorer::BatchAnswer& answer);
    void failed(const QString& message);
    void finished(bool cancelled);

  private:
    BackgroundJob job_;
};

/// Writes the answer's graph next to the model, under a name that no graph and no schedule has yet, and
/// its schedule next to the graph. Returns the files, the graph first. Fails if a file cannot be written.
Result<QStringList> keep_answer(BatchAnswer& answer, const QString& model);

}  // namespace rematlas::explorer
