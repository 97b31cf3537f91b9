#include "app/explorer/jobs/batch_controller.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QTemporaryDir>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/explorer/jobs/capture_process.h"
#include "app/explorer/words/wording.h"
#include "core/base/files.h"
#include "core/graph/flat_graph.h"
#include "core/graph/graph_file.h"
#include "core/planning/batch_inputs.h"
#include "core/planning/largest_batch.h"
#include "core/planning/request.h"
#include "core/schedule/schedule_file.h"

namespace rematlas::explorer {
namespace {

constexpr auto time_for_one = std::chrono::seconds(10);
constexpr auto time_for_largest = std::chrono::seconds(60);

QString phrase(const char* text) {
    return QCoreApplication::translate("Batch", text);
}

std::vector<std::string> provenance_inputs(const LoadedGraph& graph) {
    std::vector<std::string> inputs;
    if (!graph.graph.provenance || !graph.graph.provenance->is_object()) return inputs;
    const auto found = graph.graph.provenance->find("inputs");
    if (found == graph.graph.provenance->end() || !found->is_array()) return inputs;
    for (const auto& input : *found)
        if (input.is_string()) inputs.push_back(input.get<std::string>());
    return inputs;
}

/// Captures the model at this batch size. The graph file is written to `folder`. The capture's process is
/// killed when `stop` is requested.
Result<Graph> captured_at(const BatchQuestion& question, std::int64_t batch, const QTemporaryDir& folder,
                          const std::stop_token& stop) {
    CaptureRequest request = question.capture;
    for (QString& input : request.inputs) input = text(at_batch(input.toStdString(), batch));
    request.output = folder.filePath("captured.graph.json");
    const Result<void> done = capture_and_wait(request, stop);
    if (!done)
        return Error{phrase("a batch of %1: %2").arg(batch).arg(text(done.error().message)).toStdString()};
    return read_graph(request.output.toStdString());
}

QString example_text(const Schedule& schedule, std::int64_t batch) {
    return phrase("A step takes %1, %2 an example.")
        .arg(time_text(schedule.time),
             time_text(Nanoseconds(schedule.time.value / std::max<std::int64_t>(batch, 1))));
}

/// Says whether `overhead` is within the question's limit. Returns true if the question has no limit.
bool quick_enough(const BatchQuestion& question, double overhead) {
    return !question.max_overhead || overhead <= *question.max_overhead;
}

void tell_schedule(const BatchQuestion& question, const Schedule& schedule, Bytes needs,
                   BatchAnswer& answer) {
    const QString room = bytes_text(question.budget);
    if (needs <= question.budget) {
        answer.headline =
            phrase("A batch of %1 fits: it needs %2 of %3.").arg(answer.batch).arg(bytes_text(needs), room);
    } else {
        answer.headline = phrase("A batch of %1 fits %2 with recomputation: %3 time. Without, it needs %4.")
                              .arg(answer.batch)
                              .arg(room, overhead_text(schedule.overhead), bytes_text(needs));
    }
    answer.detail = example_text(schedule, answer.batch);
}

Result<BatchAnswer> about_one(const BatchQuestion& question, const QTemporaryDir& folder,
                              std::stop_token stop) {
    Result<Graph> graph = captured_at(question, question.batch, folder, stop);
    if (!graph) return graph.error();
    BatchAnswer answer{.batch = question.batch,
                       .headline = {},
                       .detail = {},
                       .graph = std::make_shared<Graph>(graph.take()),
                       .schedule = nullptr};
    const Bytes needs = step_bytes(flatten(*answer.graph)).peak;
    const bool fits = needs <= question.budget;
    const SolveRequest request{.solver = fits ? "keep-all" : "atlas",
                               .budget = question.budget,
                               .limits = {.time = time_for_one, .stop = stop, .cache = cache_folder()}};
    const Result<Outcome> outcome = solve(*answer.graph, request);
    if (!outcome) return outcome.error();
    if (const Schedule* schedule = outcome->schedule()) {
        tell_schedule(question, *schedule, needs, answer);
        if (quick_enough(question, schedule->overhead))
            answer.schedule = std::make_shared<Schedule>(*schedule);
        else
            answer.detail += phrase(" That is more time than is allowed.");
        return answer;
    }
    const Infeasible& none = *outcome->infeasible();
    answer.headline = none.proven ? phrase("A batch of %1 cannot fit %2: every schedule needs at least %3.")
                                        .arg(question.batch)
                                        .arg(bytes_text(question.budget), bytes_text(none.needed))
                                  : phrase("No schedule of a batch of %1 within %2 was found.")
                                        .arg(question.batch)
                                        .arg(bytes_text(question.budget));
    answer.detail = phrase("Without recomputation it needs %1.").arg(bytes_text(needs));
    return answer;
}

QString why_no_more(const LargestBatch& found) {
    if (found.at_most) return phrase("Nothing larger was tried.");
    if (found.next_needs) return phrase("One more needs at least %1.").arg(bytes_text(*found.next_needs));
    if (found.next_overhead)
        return (found.proven ? phrase("One more costs at least %1 time.")
                             : phrase("One more was found to cost %1 time."))
            .arg(overhead_text(*found.next_overhead));
    return found.proven ? phrase("One more provably does not fit.")
                        : phrase("No schedule was found for one more.");
}

Result<BatchAnswer> about_largest(const BatchQuestion& question, const QTemporaryDir& folder,
                                  std::stop_token stop, const BatchProgress& progress) {
    LargestBatchOptions options{.budget = question.budget, .max_overhead = question.max_overhead};
    options.limits.time = time_for_largest;
    options.limits.stop = stop;
    options.limits.cache = cache_folder();
    Result<LargestBatch> found = largest_batch(
        [&](std::int64_t batch) { return captured_at(question, batch, folder, stop); }, options, progress);
    if (!found) return found.error();
    BatchAnswer answer{
        .batch = found->batch, .headline = {}, .detail = {}, .graph = nullptr, .schedule = nullptr};
    if (!found->schedule) {
        answer.headline = phrase("Not even one example fits %1.").arg(bytes_text(question.budget));
        answer.detail = why_no_more(*found);
        return answer;
    }
    tell_schedule(question, *found->schedule, step_bytes(flatten(found->graph)).peak, answer);
    answer.headline = phrase("The largest batch is %1. %2").arg(found->batch).arg(answer.headline);
    answer.detail += ' ' + why_no_more(*found);
    if (found->without_recomputation)
        answer.detail += phrase(" Without recomputation %1 fit.").arg(*found->without_recomputation);
    answer.graph = std::make_shared<Graph>(std::move(found->graph));
    answer.schedule = std::make_shared<Schedule>(std::move(*found->schedule));
    return answer;
}

/// Makes messages for users about the progress of a search for the largest batch.
class BatchWords {
  public:
    QString at(std::int64_t batch, BatchEvent event) {
        switch (event) {
            case BatchEvent::capturing:
                now_ = phrase("Capturing a batch of %1").arg(batch);
                break;
            case BatchEvent::fits:
                fits_ = std::max(fits_, batch);
                now_ = phrase("A batch of %1 fits").arg(batch);
                break;
            case BatchEvent::too_large:
                too_large_ = too_large_ > 0 ? std::min(too_large_, batch) : batch;
                now_ = phrase("A batch of %1 is too large").arg(batch);
                break;
        }
        if (fits_ == 0 && too_large_ == 0) return now_;
        const QString known = too_large_ == 0 ? phrase("at least %1").arg(fits_)
                                              : phrase("from %1 to %2").arg(fits_).arg(too_large_ - 1);
        return phrase("%1. The largest is %2.").arg(now_, known);
    }

  private:
    std::int64_t fits_ = 0, too_large_ = 0;
    QString now_;
};

}  // namespace

std::int64_t batch_of(const LoadedGraph& graph) {
    const auto found = with_batch_letter(provenance_inputs(graph));
    return found ? found->batch : 0;
}

BatchQuestion question_about(const LoadedGraph& graph) {
    BatchQuestion question;
    const QString model = text(told_of_origin(graph, "model"));
    const QDir folder(QFileInfo(text(graph.path.string())).absolutePath());
    const QString file = folder.filePath(QFileInfo(model).fileName());
    if (!model.isEmpty() && QFileInfo(file).isFile()) question.capture.model = file;
    if (const auto inputs = with_batch_letter(provenance_inputs(graph)))
        for (const std::string& input : inputs->inputs) question.capture.inputs << text(input);
    // "meta:h100" means that the graph was captured from shapes for an H100.
    const QStringList device = text(told_of_origin(graph, "device")).split(':');
    if (!device.front().isEmpty()) question.capture.device = device.front();
    if (device.size() > 1 && device.front() == "meta") question.capture.device_profile = device[1];
    const QString loss = text(told_of_origin(graph, "loss"));
    if (!loss.isEmpty()) question.capture.loss = loss;
    const QString optimizer = text(told_of_origin(graph, "optimizer"));
    if (captured_optimizers().contains(optimizer)) question.capture.optimizer = optimizer;
    return question;
}

BatchController::BatchController() {
    connect(&job_, &BackgroundJob::finished, this, &BatchController::finished);
}

void BatchController::ask(BatchQuestion question) {
    job_.start([this, question = std::move(question)](std::stop_token stop) -> BackgroundJob::Delivery {
        const auto refuse = [this](const QString& message) -> BackgroundJob::Delivery {
            return [this, message] { emit failed(message); };
        };
        const bool any = std::any_of(question.capture.inputs.begin(), question.capture.inputs.end(),
                                     [](const QString& input) { return has_batch(input.toStdString()); });
        if (!any) return refuse(phrase("No input has a dimension B, the batch: f32[B,3,224,224]"));
        const QTemporaryDir folder;
        if (!folder.isValid()) return refuse(folder.errorString());
        BatchWords telling;
        const auto progress = [&](std::int64_t batch, BatchEvent event) {
            job_.post(stop, [this, words = telling.at(batch, event)] { emit progressed(words); });
        };
        if (question.batch > 0) progress(question.batch, BatchEvent::capturing);
        const Result<BatchAnswer> answer = question.batch > 0
                                               ? about_one(question, folder, stop)
                                               : about_largest(question, folder, stop, progress);
        if (!answer) return refuse(text(answer.error().message));
        return [this, answer = *answer] { emit answered(answer); };
    });
    emit started();
}

Result<QStringList> keep_answer(BatchAnswer& answer, const QString& model) {
    const QFileInfo file(model);
    const QString graph = free_graph_file(QStringLiteral("%1/%2-batch%3.pt")
                                              .arg(file.absolutePath(), file.completeBaseName())
                                              .arg(answer.batch));
    if (const Result<void> written = write_graph(*answer.graph, graph.toStdString()); !written)
        return written.error();
    QStringList files{graph};
    if (!answer.schedule) return files;
    answer.schedule->graph_sha256 = answer.graph->sha256;
    const QString schedule = graph.chopped(static_cast<int>(qstrlen(".graph.json"))) + ".schedule.json";
    if (const Result<void> written = write_schedule(*answer.schedule, schedule.toStdString()); !written)
        return written.error();
    return files << schedule;
}

}  // namespace rematlas::explorer
