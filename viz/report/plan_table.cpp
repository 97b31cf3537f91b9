// The table of all plans of a report, with a row for each plan.
#include "viz/report/report_parts.h"

namespace rematlas {

void add_plan_table(HtmlPage& page, const std::vector<ReportedSchedule>& schedules,
                    const std::vector<StepFigures>& figures) {
    if (schedules.size() < 2) return;
    std::vector<std::vector<std::string>> rows;
    for (std::size_t i = 0; i < schedules.size(); ++i) {
        const Schedule& schedule = *schedules[i].schedule;
        const CheckReport& check = figures[i].check;
        rows.push_back({html_text(schedules[i].name), html_text(schedule.solver),
                        schedule.budget.value > 0 ? html_bytes(schedule.budget) : "", html_bytes(check.peak),
                        html_time(check.time), html_overhead(check.overhead),
                        schedule.bound ? html_overhead(schedule.bound->overhead) : "",
                        html_count(check.reruns), html_bytes(figures[i].copied_to_host)});
    }
    page.heading("Plans");
    page.note("What follows tells of the first one.");
    page.table({{"Plan"},
                {"Solver"},
                {"Budget", true},
                {"Peak", true},
                {"Time", true},
                {"Extra time", true},
                {"No less than", true},
                {"Computed again", true},
                {"Copied to the host", true}},
               rows);
}

}  // namespace rematlas
