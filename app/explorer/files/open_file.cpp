#include "app/explorer/files/open_file.h"

#include <algorithm>

#include "core/base/files.h"
#include "core/schedule/schedule_file.h"

namespace rematlas::explorer {
namespace {

namespace fs = std::filesystem;

bool ends_with(const fs::path& path, std::string_view ending) {
    std::string name = path.filename().string();
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    return name.ends_with(ending);
}

std::vector<fs::path> graphs_beside(const fs::path& path) {
    std::vector<fs::path> found;
    std::error_code ignored;  // an unreadable folder counts as a folder without graphs
    const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
        if (ends_with(entry.path(), ".graph.json") && entry.is_regular_file(ignored))
            found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end());
    return found;
}

Result<GraphPtr> graph_for(const std::string& digest, const fs::path& path, const GraphPtr& current) {
    if (current && current->graph.sha256 == digest) return current;
    for (const fs::path& candidate : graphs_beside(path)) {
        const Result<std::string> text = read_file(candidate);
        if (text && sha256(*text) == digest) return load_graph(candidate);
    }
    return Error{.message = path.string() + ": belongs to the graph with digest " + digest.substr(0, 12) +
                            "..., which is neither open nor in the same folder"};
}

Result<Opened> open_schedule(const fs::path& path, const GraphPtr& current) {
    Result<Schedule> schedule = read_schedule(path);
    if (!schedule) return schedule.error();
    Result<GraphPtr> graph = graph_for(schedule->graph_sha256, path, current);
    if (!graph) return graph.error();
    return Opened{.graph = *graph,
                  .schedule = prepare_schedule(*graph, schedule.take(), path),
                  .sweep = {},
                  .path = path};
}

Result<Opened> open_plan(const fs::path& path) {
    Result<Plan> plan = read_plan(path);
    if (!plan) return plan.error();
    const GraphPtr graph = prepare_graph(std::move(plan->graph), {}, path);
    return Opened{.graph = graph,
                  .schedule = prepare_schedule(graph, std::move(plan->schedule), path),
                  .sweep = {},
                  .path = path};
}

Result<Opened> open_sweep(const fs::path& path, const GraphPtr& current) {
    Result<Sweep> sweep = read_sweep(path);
    if (!sweep) return sweep.error();
    Result<GraphPtr> graph = graph_for(sweep->graph_sha256, path, current);
    if (!graph) return graph.error();
    return Opened{.graph = *graph, .schedule = nullptr, .sweep = sweep.take(), .path = path};
}

Result<Opened> open_kind(const fs::path& path, const GraphPtr& current) {
    switch (file_kind(path)) {
        case FileKind::schedule:
            return open_schedule(path, current);
        case FileKind::plan:
            return open_plan(path);
        case FileKind::sweep:
            return open_sweep(path, current);
        case FileKind::graph: {
            Result<GraphPtr> graph = load_graph(path);
            if (!graph) return graph.error();
            return Opened{.graph = *graph, .schedule = nullptr, .sweep = {}, .path = path};
        }
        case FileKind::fits:
            return Error{
                .message = path.string() +
                           ": an answer of rematlas fits has no graph; rematlas draw makes a picture of it"};
        case FileKind::run:
            return Error{.message = path.string() + ": the steps of a training run have no graph to show"};
        case FileKind::measurement:
            return Error{.message = path.string() + ": a measurement by torch has no graph to show"};
        case FileKind::model:
            return Error{.message =
                             path.string() + ": a model has to be captured first; open it in the window"};
        case FileKind::unknown:
            break;
    }
    return Error{
        .message =
            path.string() +
            ": not a file of ours; expected .pt, .pt2, .py, .graph.json, .schedule.json, .sweep.json, .plan, "
            "a .pickle or a trace by torch, or the .jsonl of a training run"};
}

}  // namespace

Result<Opened> open_file(const fs::path& path, const GraphPtr& current) {
    Result<Opened> opened = open_kind(path, current);
    if (!opened || opened->graph == current) return opened;
    opened->all_kept = prepare_schedule(opened->graph, keep_all_schedule(*opened->graph));
    opened->kept = read_journal(journal_path(opened->graph->path), opened->graph->graph.sha256);
    return opened;
}

Result<Opened> open_anywhere(const QString& path, const GraphPtr& current, const std::stop_token& stop) {
    if (!is_remote(path)) return open_file(path.toStdString(), current);
    const Result<RemoteFile> file = remote_file(path);
    if (!file) return file.error();
    const Result<QString> copy = fetch(*file, stop);
    if (!copy) return copy.error();
    return open_copy(url_of(*file), current);
}

Result<Opened> open_copy(const QString& url, const GraphPtr& current) {
    const Result<RemoteFile> file = remote_file(url);
    if (!file) return file.error();
    Result<Opened> opened = open_file(copy_of(*file).toStdString(), current);
    if (opened) opened->host = file->host;
    return opened;
}

}  // namespace rematlas::explorer
