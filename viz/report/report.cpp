#include "viz/report/report.h"

#include <nlohmann/json.hpp>

#include "core/base/files.h"
#include "viz/report/page_data.h"
#include "viz/report/plain_step.h"
#include "viz/report/report_parts.h"

namespace rematlas {
namespace {

bool belongs(const std::string& sha256, const Graph* graph) {
    return !graph || sha256.empty() || graph->sha256.empty() || sha256 == graph->sha256;
}

std::string title_of(const ReportOf& of) {
    std::string name = of.graph ? of.graph->name : of.sweeps.front()->graph;
    if (name.empty()) name = "training step";
    return "Memory of " + name;
}

Result<void> check_parts(const ReportOf& of) {
    if (!of.graph && of.sweeps.empty()) return Error{"a report needs a graph, a schedule or a sweep"};
    if (!of.schedules.empty() && !of.graph) return Error{"a report on a schedule needs its graph"};
    for (const ReportedSchedule& reported : of.schedules)
        if (!belongs(reported.schedule->graph_sha256, of.graph))
            return Error{"the schedule " + reported.name + " belongs to another graph than " +
                         of.graph->name};
    for (const Sweep* sweep : of.sweeps) {
        const bool same = of.graph ? belongs(sweep->graph_sha256, of.graph)
                                   : sweep->graph_sha256 == of.sweeps.front()->graph_sha256;
        if (!same)
            return Error{"a sweep belongs to another graph than " +
                         (of.graph ? of.graph->name : "the first sweep")};
    }
    return {};
}

/// Adds the sections in words. They describe the first schedule. Without schedules, they describe the first
/// sweep, or the step without recomputation if there is no sweep either.
Result<void> add_words(HtmlPage& page, const ReportOf& of, const Schedule& plain) {
    std::vector<StepFigures> figures;
    std::vector<ReportedSchedule> told = of.schedules;
    if (told.empty()) told.push_back({"", &plain});
    for (const ReportedSchedule& reported : told) {
        Result<StepFigures> found = step_figures(*of.graph, *reported.schedule);
        if (!found)
            return Error{(told.size() > 1 ? reported.name + ": " : "") + found.error().message,
                         found.error().kind};
        figures.push_back(found.take());
    }
    const Schedule& first = *told.front().schedule;
    if (!of.schedules.empty())
        page.lead(schedule_answer(*of.graph, first, figures.front()));
    else if (of.sweeps.empty())
        page.lead(plain_answer(*of.graph, figures.front()));
    else
        page.lead(sweep_answer(*of.sweeps.front(), of.graph));
    if (of.schedules.empty() && !of.sweeps.empty()) return {};
    add_plan_table(page, told, figures);
    return add_schedule_sections(page, *of.graph, first, figures.front());
}

}  // namespace

Result<std::string> report_page(const ReportOf& of) {
    if (const Result<void> fits = check_parts(of); !fits) return fits.error();
    HtmlPage page(title_of(of), of.use);
    const Schedule plain = of.graph ? plain_step(*of.graph) : Schedule();
    if (!of.graph) {
        page.lead(sweep_answer(*of.sweeps.front(), nullptr));
    } else if (const Result<void> added = add_words(page, of, plain); !added) {
        return added.error();
    }
    for (std::size_t i = 0; i < of.sweeps.size(); ++i) {
        const int number = of.sweeps.size() > 1 ? static_cast<int>(i) + 1 : 0;
        if (const Result<void> added = add_sweep_sections(page, *of.sweeps[i], of.graph, number); !added)
            return added.error();
    }
    const bool of_sweeps = of.schedules.empty() && !of.sweeps.empty();
    const Schedule* told = of_sweeps              ? nullptr
                           : of.schedules.empty() ? &plain
                                                  : of.schedules.front().schedule;
    add_making(page, of, told, !of.schedules.empty());
    const Result<nlohmann::json> data = page_data(of);
    if (!data) return data.error();
    return page.finish(*data);
}

Result<void> write_report(const ReportOf& of, const std::filesystem::path& path) {
    const Result<std::string> page = report_page(of);
    if (!page) return Error{path.string() + ": " + page.error().message, page.error().kind};
    return write_file(path, *page);
}

}  // namespace rematlas
