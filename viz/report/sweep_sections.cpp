#include "viz/paint/painters.h"
#include "viz/paint/sweep_curves.h"
#include "viz/report/report_parts.h"

namespace rematlas {

Result<void> add_sweep_sections(HtmlPage& page, const Sweep& sweep, const Graph* graph, int number) {
    const std::string which = number > 0 ? std::to_string(number) + "-" : "";
    const Result<std::string> light =
        sweep_in_page(sweep, graph, {.paper = palette::kLight, .ids = "tradeoff-light-" + which});
    if (!light) return light.error();
    const Result<std::string> dark =
        sweep_in_page(sweep, graph, {.paper = palette::kDark, .ids = "tradeoff-dark-" + which});
    if (!dark) return dark.error();
    page.heading("Memory against time" + (number > 0 ? ", sweep " + std::to_string(number) : ""));
    page.picture(*light, *dark,
                 "Each point is a schedule: how much memory it needs and how much time it costs.");
    std::vector<std::vector<std::string>> rows;
    for (const SweepCurve& curve : sweep.curves) {
        for (const SweepPoint& point : curve.points) {
            const bool found = point.peak.value > 0;
            rows.push_back({html_text(curve_name(curve)), html_bytes(point.budget),
                            found ? html_bytes(point.peak) : "", found ? html_overhead(point.overhead) : "",
                            point.bound ? html_overhead(point.bound->overhead) : "",
                            found && point.bound ? html_share(point.bound->gap) : "",
                            html_text(point.status)});
        }
    }
    page.table({{"Solver"},
                {"Budget", true},
                {"Peak", true},
                {"Extra time", true},
                {"No less than", true},
                {"Distance", true},
                {"Status"}},
               rows);
    return {};
}

}  // namespace rematlas
