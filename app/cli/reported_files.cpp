#include "app/cli/reported_files.h"

#include <filesystem>

#include "app/cli/reading.h"
#include "core/graph/graph_file.h"
#include "core/schedule/schedule_file.h"

namespace rematlas {

Result<void> ReportedFiles::read(const std::vector<std::string>& paths) {
    for (const std::string& path : paths)
        if (const Result<void> done = read_one(path); !done) return done;
    return find_graph(paths.front());
}

ReportOf ReportedFiles::report() const {
    ReportOf of{.graph = graph_ ? &*graph_ : nullptr, .made_by = std::string("rematlas ") + REMATLAS_VERSION};
    for (const auto& [path, schedule] : schedules_)
        of.schedules.push_back({std::filesystem::path(path).filename().string(), &schedule});
    for (const auto& [path, sweep] : sweeps_) of.sweeps.push_back(&sweep);
    return of;
}

Result<void> ReportedFiles::read_one(const std::string& path) {
    const Result<FileKind> kind = our_file(path);
    if (!kind) return kind.error();
    switch (*kind) {
        case FileKind::graph:
            return take_graph(path, read_graph(path));
        case FileKind::plan: {
            Result<Plan> plan = read_plan(path);
            if (!plan) return plan.error();
            schedules_.emplace_back(path, std::move(plan->schedule));
            return take_graph(path, std::move(plan->graph));
        }
        case FileKind::sweep: {
            Result<Sweep> sweep = read_sweep(path);
            if (!sweep) return sweep.error();
            sweeps_.emplace_back(path, sweep.take());
            return {};
        }
        case FileKind::schedule: {
            Result<Schedule> schedule = read_schedule(path);
            if (!schedule) return schedule.error();
            schedules_.emplace_back(path, schedule.take());
            return {};
        }
        case FileKind::fits:
        case FileKind::run:
        case FileKind::measurement:
        case FileKind::model:
        case FileKind::unknown:
            break;
    }
    return Error{path +
                 ": is an answer of fits; a report is on graphs, schedules and sweeps (draw takes it)"};
}

Result<void> ReportedFiles::take_graph(const std::string& path, Result<Graph> graph) {
    if (!graph) return graph.error();
    if (graph_ && graph_->sha256 != graph->sha256)
        return Error{path + ": is of another graph than " + graph_path_ + "; a report is on one graph"};
    if (graph_path_.empty()) graph_path_ = path;
    graph_ = graph.take();
    return {};
}

Result<void> ReportedFiles::find_graph(const std::string& first) {
    if (graph_ && !asked_graph_.empty())
        if (const Result<void> same = take_graph(asked_graph_, read_graph(asked_graph_)); !same) return same;
    if (graph_) return check_one_graph();
    if (!schedules_.empty()) {
        const auto& [path, schedule] = schedules_.front();
        Result<Graph> graph = graph_for(schedule, path, asked_graph_);
        if (!graph) return graph.error();
        graph_ = graph.take();
        return check_one_graph();
    }
    Result<std::optional<Graph>> graph = graph_if_known(sweeps_.front().second, first, asked_graph_);
    if (!graph) return graph.error();
    graph_ = graph.take();
    return check_one_graph();
}

Result<void> ReportedFiles::check_one_graph() const {
    const auto other = [&](const std::string& path, const std::string& digest) {
        return graph_ && !digest.empty() && !graph_->sha256.empty() && digest != graph_->sha256
                   ? Result<void>(Error{path + ": is of another graph than " + graph_->name +
                                        "; a report is on one graph"})
                   : Result<void>();
    };
    for (const auto& [path, schedule] : schedules_)
        if (const Result<void> same = other(path, schedule.graph_sha256); !same) return same;
    for (const auto& [path, sweep] : sweeps_)
        if (const Result<void> same = other(path, sweep.graph_sha256); !same) return same;
    return {};
}

}  // namespace rematlas
