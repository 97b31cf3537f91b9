#include "viz/report/report.h"

#include <optional>

#include "core/base/files.h"
#include "viz/report/report_parts.h"

namespace rematlas {
namespace {

bool belongs(const std::string& sha256, const Graph* graph) {
    return !graph || sha256.empty() || graph->sha256.empty() || sha256 == graph->sha256;
}

std::string title_of(const ReportOf& of) {
    std::string name = of.graph ? of.graph->name : of.sweep->graph;
    if (name.empty()) name = "training step";
    return "Memory of " + name;
}

Result<void> check_parts(const ReportOf& of) {
    if (!of.schedule && !of.sweep) return Error{"a report needs a schedule or a sweep"};
    if (of.schedule && !of.graph) return Error{"a report on a schedule needs its graph"};
    if (of.schedule && !belongs(of.schedule->graph_sha256, of.graph))
        return Error{"the schedule belongs to another graph than " + of.graph->name};
    if (of.sweep && !belongs(of.sweep->graph_sha256, of.graph))
        return Error{"the sweep belongs to another graph than " + of.graph->name};
    return {};
}

}  // namespace

Result<std::string> report_page(const ReportOf& of) {
    if (const Result<void> fits = check_parts(of); !fits) return fits.error();
    HtmlPage page(title_of(of));
    std::optional<StepFigures> figures;
    if (of.schedule) {
        Result<StepFigures> found = step_figures(*of.graph, *of.schedule);
        if (!found) return found.error();
        figures = found.take();
        page.lead(schedule_answer(*of.graph, *of.schedule, *figures));
        const Result<void> added = add_schedule_sections(page, *of.graph, *of.schedule, *figures);
        if (!added) return added.error();
    } else {
        page.lead(sweep_answer(*of.sweep, of.graph));
    }
    if (of.sweep) {
        if (const Result<void> added = add_sweep_sections(page, *of.sweep, of.graph); !added)
            return added.error();
    }
    add_making(page, of.graph, of.schedule, figures ? &*figures : nullptr, of.made_by);
    return page.finish();
}

Result<void> write_report(const ReportOf& of, const std::filesystem::path& path) {
    const Result<std::string> page = report_page(of);
    if (!page) return Error{path.string() + ": " + page.error().message, page.error().kind};
    return write_file(path, *page);
}

}  // namespace rematlas
