// The sentences at the beginning of a report: what the step needs, and how good the schedule is.
#include <array>

#include "core/base/sizes.h"
#include "core/graph/flat_graph.h"
#include "core/schedule/run_sequence.h"
#include "viz/paint/axis.h"
#include "viz/paint/sweep_curves.h"
#include "viz/report/report_parts.h"

namespace rematlas {
namespace {

std::string percent_less(Bytes now, Bytes before) {
    const double share = static_cast<double>((before - now).value) / static_cast<double>(before.value);
    return std::to_string(static_cast<int>(100 * share + 0.5)) + " % less";
}

std::string need(const Graph& graph, const StepFigures& figures) {
    const std::string step = "One training step of " + (graph.name.empty() ? "the model" : graph.name);
    const Bytes peak = figures.check.peak, before = figures.keep_all_peak;
    if (peak >= before) return step + " needs " + format_bytes(peak) + " of memory.";
    return step + " needs " + format_bytes(peak) + " of memory instead of " + format_bytes(before) + ", " +
           percent_less(peak, before) + ".";
}

std::string fit(const Schedule& schedule, const StepFigures& figures) {
    if (schedule.addresses)
        return "It fits: laid out in one piece of memory it takes " +
               format_bytes(schedule.addresses->arena) + " of the budget of " +
               format_bytes(schedule.budget) + ".";
    const Bytes spare = schedule.budget - figures.check.peak;
    std::string line = "It fits the budget of " + format_bytes(schedule.budget);
    return line + (spare.value > 0 ? ", with " + format_bytes(spare) + " to spare." : ".");
}

std::string cost(const Graph& graph, const StepFigures& figures) {
    const CheckReport& check = figures.check;
    const std::string times =
        format_duration(check.time) + " instead of " + format_duration(figures.keep_all_time);
    std::string why;
    if (check.reruns > 0)
        why = "of " + std::to_string(graph.ops.size()) + " operations, " + std::to_string(check.reruns) +
              (check.reruns == 1 ? " is" : " are") + " computed again";
    if (figures.copied_to_host.value > 0)
        why +=
            (why.empty() ? "" : ", and ") + format_bytes(figures.copied_to_host) + " are copied to the host";
    if (check.time <= figures.keep_all_time)
        return why.empty() ? "It costs no time: nothing is computed again."
                           : "It costs no time, though " + why + ".";
    const std::string longer = format_overhead(check.overhead) + " time (" + times + ")";
    return why.empty() ? "It costs " + longer + "." : "It costs " + longer + ": " + why + ".";
}

/// Returns "no schedule within this budget", followed by the conditions under which the bound holds: the
/// pins, and the class of schedules.
std::string among(const Schedule& schedule) {
    std::string which =
        schedule.budget.value > 0 ? "no schedule within this budget" : "no schedule of this peak";
    if (!schedule.pins.empty()) which += " that keeps the pins";
    if (schedule.bound->over == ScheduleClass::staged) {
        which += schedule.pins.empty() ? " that" : " and";
        return which + " goes through the operations in their order, stage by stage,";
    }
    if (schedule.bound->over == ScheduleClass::with_activation_copies)
        return which + ", whatever it computes again and whatever activations it copies to the host,";
    if (schedule.bound->over == ScheduleClass::with_copies)
        return which + ", whatever it computes again or copies to the host,";
    if (schedule.bound->over == ScheduleClass::with_host_ops)
        return which + ", whatever it computes again, copies to the host or computes there,";
    return which + ", in any order and whatever it computes again,";
}

std::string distance_to_best(const Schedule& schedule) {
    if (!schedule.bound) return "How much better it could be is not known: no lower bound was proven.";
    if (schedule.status == "optimal") return "It is the best possible: " + among(schedule) + " is faster.";
    std::string line =
        among(schedule) + " costs less than " + format_overhead(schedule.bound->overhead) + " time.";
    line.front() = 'N';
    char gap[32];
    std::snprintf(gap, sizeof gap, "%.2f %%", 100 * schedule.bound->gap);
    return line + " This one is within " + gap + " of the best possible.";
}

/// Returns the point of the sweep with the least memory among the points whose overhead is at most
/// `overhead`, and sets `solver` to the name of the point's curve. Returns null if there is no such point.
const SweepPoint* smallest_within(const Sweep& sweep, double overhead, std::string* solver) {
    const SweepPoint* best = nullptr;
    for (const SweepCurve& curve : sweep.curves) {
        for (const SweepPoint& point : curve.points) {
            if (point.peak.value <= 0 || point.overhead > overhead) continue;
            if (best && point.peak >= best->peak) continue;
            best = &point;
            *solver = curve_name(curve);
        }
    }
    return best;
}

}  // namespace

std::vector<std::string> schedule_answer(const Graph& graph, const Schedule& schedule,
                                         const StepFigures& figures) {
    std::vector<std::string> lines{need(graph, figures)};
    if (schedule.budget.value > 0) lines.push_back(fit(schedule, figures));
    lines.push_back(cost(graph, figures));
    lines.push_back(distance_to_best(schedule));
    return lines;
}

std::vector<std::string> plain_answer(const Graph& graph, const StepFigures& figures) {
    std::vector<std::string> lines{need(graph, figures)};
    lines.push_back("Nothing is computed again: no plan was given with the graph.");
    if (figures.least < figures.check.peak)
        lines.push_back("No schedule without copies to the host needs less than " +
                        format_bytes(figures.least) + "; rematlas solve finds one for a budget.");
    return lines;
}

std::vector<std::string> sweep_answer(const Sweep& sweep, const Graph* graph) {
    const std::string step = sweep.graph.empty() ? "the model" : sweep.graph;
    std::vector<std::string> lines;
    std::optional<Bytes> before;
    if (graph) {
        before = keep_all_peak(flatten(*graph));
        lines.push_back("One training step of " + step + " needs " + format_bytes(*before) +
                        " of memory when nothing is computed again.");
    }
    std::string solver;
    const SweepPoint* told = nullptr;
    const auto tell = [&](const SweepPoint* point, const std::string& lead) {
        if (!point || (told && point->peak >= told->peak)) return;
        const bool less = before && point->peak < *before;
        lines.push_back(lead + " it fits " + format_bytes(point->peak) +
                        (less ? " (" + percent_less(point->peak, *before) + ")" : "") + ", found by " +
                        solver + ".");
        told = point;
    };
    for (const double overhead : std::array{1.05, 1.10, 1.25})
        tell(smallest_within(sweep, overhead, &solver),
             "For " + format_overhead(overhead) + " time or less,");
    const SweepPoint* smallest = smallest_within(sweep, 1e300, &solver);
    if (smallest) tell(smallest, "At the least, for " + format_overhead(smallest->overhead) + " time,");
    if (!smallest) lines.push_back("No schedule was found for any of its budgets.");
    std::string pins;
    for (const Pin& pin : sweep.pins) pins += (pins.empty() ? "" : ", ") + to_string(pin);
    if (!pins.empty())
        lines.push_back("All its schedules keep the pins " + pins +
                        ", and what is proven holds for schedules that keep them.");
    return lines;
}

}  // namespace rematlas
