#include "app/explorer/session/answer.h"

#include <QCoreApplication>
#include <algorithm>

#include "app/explorer/session/budget_controller.h"
#include "app/explorer/session/wording.h"
#include "core/costs/device_profile.h"

namespace rematlas::explorer {
namespace {

struct FitWords {
    Q_DECLARE_TR_FUNCTIONS(FitWords)
};

/// Whether what is written of it begins with a minus: updates on the host can save time.
bool saves_time(double overhead) {
    return overhead < 1 - 5e-5;
}
QString saved_text(double overhead) {
    return overhead_text(overhead).mid(1);
}

/// Of the plans within the limit the fastest; `PlanList::none` where none is.
int fastest_within(const PlanList& plans, Bytes limit) {
    int best = PlanList::none;
    for (int row = 0; row < plans.rowCount(); ++row) {
        const Schedule& schedule = *plans.plan(row).schedule;
        if (schedule.peak > limit) continue;
        if (best == PlanList::none || schedule.overhead < plans.plan(best).schedule->overhead) best = row;
    }
    return best;
}

/// Whether a field that is given `bytes`, which it rounds up, says `limit` then, or the same of both.
bool is_rounded_to(Bytes bytes, Bytes limit) {
    const QString rounded = precise_bytes(bytes);
    const Result<Bytes> shown = parse_bytes(rounded.toStdString());
    return rounded == precise_bytes(limit) || (shown && *shown == limit);
}

bool can_copy(const LoadedGraph& graph) {
    return graph.graph.device && graph.graph.device->links.both_ways();
}

/// The answer where a plan fits within the limit.
void describe_plan(FitAnswer& answer, const LoadedGraph& graph, const PlanRow& plan, Bytes limit) {
    const QString room = bytes_text(limit), needs = bytes_text(graph.full_peak);
    answer.kind = FitAnswer::Kind::with_plan;
    const double overhead = plan.schedule->overhead;
    answer.headline =
        saves_time(overhead)
            ? FitWords::tr("Needs %1, fits %2 with plan %3: %4 less time than with all on the device")
                  .arg(needs, room, plan.name, saved_text(overhead))
            : FitWords::tr("Needs %1, fits %2 with plan %3: %4 time")
                  .arg(needs, room, plan.name, overhead_text(overhead));
    const std::optional<Bound>& bound = plan.schedule->bound;
    const Bytes made_for = plan.schedule->budget;
    if (!is_rounded_to(made_for, limit)) {
        // What is proven of its own budget says nothing of this one.
        answer.can_solve = plan.schedule->overhead > 1;
        const bool alike = bytes_text(made_for) == room;
        answer.detail = FitWords::tr("It was made for %1. Solve for what %2 allow.")
                            .arg(alike ? precise_bytes(made_for) : bytes_text(made_for),
                                 alike ? precise_bytes(limit) : room);
        return;
    }
    // What is proven under pins says nothing of schedules without them.
    const bool pinned = !plan.schedule->pins.empty();
    if (plan.schedule->status == "optimal")
        answer.detail = pinned ? FitWords::tr("No schedule that keeps its pins and its budget is faster.")
                               : FitWords::tr("No schedule within its budget is faster.");
    else if (bound && saves_time(bound->overhead))
        answer.detail =
            (pinned
                 ? FitWords::tr("Under its pins and within its budget no schedule saves more than %1 of the "
                                "time that the step takes with all on the device.")
                 : FitWords::tr("Within its budget no schedule saves more than %1 of the time that the "
                                "step takes with all on the device."))
                .arg(saved_text(bound->overhead));
    else if (bound)
        answer.detail =
            (pinned ? FitWords::tr("Under its pins and within its budget no schedule takes less than %1.")
                    : FitWords::tr("Within its budget no schedule takes less than %1."))
                .arg(overhead_text(bound->overhead));
    // Of schedules that copy tensors to the host it says nothing.
    if (can_copy(graph) && bound && bound->over == ScheduleClass::with_activation_copies)
        answer.detail = FitWords::tr("%1 That is with weights on the device.").arg(answer.detail);
    else if (can_copy(graph) && bound && bound->over && !holds_for(*bound->over, ScheduleClass::with_copies))
        answer.detail = FitWords::tr("%1 That is without copies to the host.").arg(answer.detail);
}

}  // namespace

FitAnswer fit_answer(const LoadedGraph& graph, const PlanList& plans, Bytes limit, Bytes smallest_known) {
    const QString room = bytes_text(limit), needs = bytes_text(graph.full_peak);
    FitAnswer answer{
        .kind = FitAnswer::Kind::fits, .headline = {}, .detail = {}, .plan = fastest_within(plans, limit)};
    if (graph.full_peak <= limit) {
        answer.headline = FitWords::tr("Fits: %1 of %2").arg(needs, room);
        answer.detail = FitWords::tr("Nothing needs to run again.");
        return answer;
    }
    if (limit < graph.least.bytes && answer.plan == PlanList::none) {
        answer.kind = FitAnswer::Kind::impossible;
        answer.headline = FitWords::tr("Cannot fit: every schedule needs at least %1, there are %2")
                              .arg(bytes_text(graph.least.bytes), room);
        answer.detail =
            (can_copy(graph) ? FitWords::tr("This is with weights on the device: they may live on the host "
                                            "(Solve, Copies to the host). Or a smaller batch, or a "
                                            "card with %1 more.")
                             : FitWords::tr("A smaller batch, or a card with %1 more."))
                .arg(bytes_text(graph.least.bytes - limit));
        return answer;
    }
    if (answer.plan != PlanList::none) {
        describe_plan(answer, graph, plans.plan(answer.plan), limit);
        return answer;
    }
    answer.can_solve = true;
    const bool known = smallest_known.value > 0 && smallest_known <= limit;
    answer.kind = known ? FitAnswer::Kind::to_solve : FitAnswer::Kind::unknown;
    answer.headline = FitWords::tr("Needs %1, there are %2").arg(needs, room);
    answer.detail = known ? FitWords::tr("It can be done: schedules go down to %1. Solve for what it costs.")
                                .arg(bytes_text(smallest_known))
                          : FitWords::tr(
                                "Not known: schedules need at least %1, and none that small was found yet. "
                                "Solve to look for one.")
                                .arg(bytes_text(graph.least.bytes));
    return answer;
}

std::vector<Card> known_cards() {
    std::vector<Card> cards;
    for (const std::string& name : device_profile_names()) {
        const Result<DeviceProfile> profile = device_profile(name);
        if (profile && profile->kind == "cuda") cards.push_back({text(profile->name), profile->memory});
    }
    std::stable_sort(cards.begin(), cards.end(),
                     [](const Card& a, const Card& b) { return a.memory > b.memory; });
    return cards;
}

Bytes usual_reserve(Bytes memory) {
    return Bytes(std::min<std::int64_t>(memory.value / 10, std::int64_t{1} << 30));
}

}  // namespace rematlas::explorer
