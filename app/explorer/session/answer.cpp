#include "app/explorer/session/answer.h"

#include <QCoreApplication>
#include <algorithm>
#include <numeric>

#include "app/explorer/jobs/capture_controller.h"
#include "app/explorer/words/wording.h"
#include "core/base/sizes.h"
#include "core/costs/builtin_profiles.h"
#include "core/costs/device_profile.h"
#include "core/costs/link_profile.h"

namespace rematlas::explorer {
namespace {

struct FitWords {
    Q_DECLARE_TR_FUNCTIONS(FitWords)
};

/// Says whether the overhead's text begins with a minus. This is possible, because updates on the host can
/// save time.
bool saves_time(double overhead) {
    return overhead < 1 - 5e-5;
}
QString saved_text(double overhead) {
    return overhead_text(overhead).mid(1);
}

/// Returns the row of the fastest plan that answers the question; `PlanList::none` if no plan does.
int fastest(const PlanList& plans, const LoadedGraph& graph, const Question& question) {
    std::vector<int> rows(static_cast<std::size_t>(plans.rowCount()));
    std::iota(rows.begin(), rows.end(), 0);
    const auto overhead = [&](int row) { return plans.plan(row).schedule->overhead; };
    std::stable_sort(rows.begin(), rows.end(), [&](int a, int b) { return overhead(a) < overhead(b); });
    const auto found = std::find_if(rows.begin(), rows.end(), [&](int row) {
        return may_answer(graph.graph, *plans.plan(row).schedule, question);
    });
    return found == rows.end() ? PlanList::none : *found;
}

/// Says whether `bytes` and `limit` look like the same budget in the budget field, which rounds budgets up.
/// This holds if the field shows the same text for both, or if the text for `bytes` is parsed as `limit`.
bool is_rounded_to(Bytes bytes, Bytes limit) {
    const QString rounded = precise_bytes(bytes);
    const Result<Bytes> shown = parse_bytes(rounded.toStdString());
    return rounded == precise_bytes(limit) || (shown && *shown == limit);
}

bool can_copy(const LoadedGraph& graph) {
    return graph.graph.device && graph.graph.device->links.both_ways();
}

/// Returns a sentence about the bound, for example "No schedule within its budget is faster."
QString proof_text(const Question& question, double overhead, double bound) {
    const bool pinned = !question.pins.empty();
    if (is_none(gap_above(overhead, bound)))
        return pinned ? FitWords::tr("No schedule that keeps its pins and its budget is faster.")
                      : FitWords::tr("No schedule within its budget is faster.");
    if (saves_time(bound))
        return (pinned
                    ? FitWords::tr("Under its pins and within its budget no schedule saves more than %1 of "
                                   "the time that the step takes with all on the device.")
                    : FitWords::tr("Within its budget no schedule saves more than %1 of the time that the "
                                   "step takes with all on the device."))
            .arg(saved_text(bound));
    return (pinned ? FitWords::tr("Under its pins and within its budget no schedule takes less than %1.")
                   : FitWords::tr("Within its budget no schedule takes less than %1."))
        .arg(overhead_text(bound));
}

/// Names the copies that the graph's device could make but the question excludes; empty if there are none.
QString copies_left_out(const LoadedGraph& graph, const Question& question) {
    if (!can_copy(graph) || moves_weights(question.copies.what)) return {};
    return moves_activations(question.copies.what) ? FitWords::tr("That is with weights on the device.")
                                                   : FitWords::tr("That is without copies to the host.");
}

/// Says why a solver could find a faster plan for the question; empty if no reason is known.
QString why_solve(const LoadedGraph& graph, const Schedule& plan, const Question& question) {
    const Bytes made_for = plan.budget, limit = question.budget;
    if (!is_rounded_to(made_for, limit)) {
        const bool alike = bytes_text(made_for) == bytes_text(limit);
        return FitWords::tr("It was made for %1. Solve for what %2 allow.")
            .arg(alike ? precise_bytes(made_for) : bytes_text(made_for),
                 alike ? precise_bytes(limit) : bytes_text(limit));
    }
    if (plan.pins != question.pins)
        return question.pins.empty() ? FitWords::tr("It was made under pins. Solve without them.")
                                     : FitWords::tr("It was made under other pins. Solve under these.");
    if (!plan.bound || !plan.bound->over || question.copies.what == Offload::none) return {};
    if (holds_for(*plan.bound->over, class_within(graph.graph, question.copies.what))) return {};
    return FitWords::tr("It was made with fewer copies to the host. Solve with those that are allowed now.");
}

/// Fills the answer for the case that a plan fits.
void describe_plan(FitAnswer& answer, const LoadedGraph& graph, const PlanRow& plan, const Question& question,
                   const KnownAnswers& known, bool was_solved) {
    const QString room = bytes_text(question.budget), needs = bytes_text(graph.full_peak);
    answer.kind = FitAnswer::Kind::with_plan;
    const double overhead = plan.schedule->overhead;
    answer.headline =
        saves_time(overhead)
            ? FitWords::tr("Needs %1, fits %2 with plan %3: %4 less time than with all on the device")
                  .arg(needs, room, plan.name, saved_text(overhead))
            : FitWords::tr("Needs %1, fits %2 with plan %3: %4 time")
                  .arg(needs, room, plan.name, overhead_text(overhead));
    Question asked = question;
    // The budget field shows the plan's budget rounded up. If the question has this rounded budget, the bound
    // for the plan's exact budget is the right one.
    if (is_rounded_to(plan.schedule->budget, question.budget)) asked.budget = plan.schedule->budget;
    const std::optional<double> bound = known.bound(asked);
    const bool is_fastest = bound && is_none(gap_above(overhead, *bound));
    const QString other = is_fastest || was_solved ? QString() : why_solve(graph, *plan.schedule, question);
    answer.can_solve = !other.isEmpty() && (overhead > 1 || can_copy(graph));
    QStringList sentences;
    if (answer.can_solve)
        sentences << other;
    else if (bound)
        sentences << proof_text(question, overhead, *bound) << copies_left_out(graph, question);
    sentences.removeAll({});
    answer.detail = sentences.join(' ');
}

/// Fills the answer for the case that it is proven that no schedule fits.
void describe_impossible(FitAnswer& answer, const LoadedGraph& graph, const Question& question, Bytes least) {
    answer.kind = FitAnswer::Kind::impossible;
    answer.headline = FitWords::tr("Cannot fit: every schedule needs at least %1, there are %2")
                          .arg(bytes_text(least), bytes_text(question.budget));
    const bool may_move = can_copy(graph) && !moves_weights(question.copies.what);
    answer.detail = (may_move ? FitWords::tr("This is with weights on the device: they may live on the host "
                                             "(Solve, Copies to the host). Or a smaller batch, or a "
                                             "card with %1 more.")
                              : FitWords::tr("A smaller batch, or a card with %1 more."))
                        .arg(bytes_text(least - question.budget));
}

}  // namespace

FitAnswer fit_answer(const LoadedGraph& graph, const PlanList& plans, const KnownAnswers& known,
                     const Question& question, bool was_solved) {
    const QString room = bytes_text(question.budget), needs = bytes_text(graph.full_peak);
    FitAnswer answer{
        .kind = FitAnswer::Kind::fits, .headline = {}, .detail = {}, .plan = fastest(plans, graph, question)};
    if (graph.full_peak <= question.budget && question.pins.empty()) {
        answer.headline = FitWords::tr("Fits: %1 of %2").arg(needs, room);
        answer.detail = FitWords::tr("Nothing needs to run again.");
        return answer;
    }
    const Bytes least = std::max(graph.least_with(question.copies.what), known.needed(question));
    if (answer.plan != PlanList::none) {
        describe_plan(answer, graph, plans.plan(answer.plan), question, known, was_solved);
        return answer;
    }
    if (question.budget < least) {
        describe_impossible(answer, graph, question, least);
        return answer;
    }
    answer.can_solve = !was_solved;
    const std::optional<Bytes> smallest = known.smallest(question);
    const bool is_known = smallest && *smallest <= question.budget;
    answer.kind = is_known ? FitAnswer::Kind::to_solve : FitAnswer::Kind::unknown;
    answer.headline = FitWords::tr("Needs %1, there are %2").arg(needs, room);
    if (is_known)
        answer.detail =
            was_solved ? FitWords::tr(
                             "Schedules go down to %1, but this solver found none for the budget "
                             "in its time. Give it more time, or choose another solver.")
                       : FitWords::tr("It can be done: schedules go down to %1. Solve for what it costs.");
    else
        answer.detail = was_solved ? FitWords::tr(
                                         "Not known: schedules need at least %1, and this solver found none "
                                         "for the budget in its time. Give it more time, or choose another "
                                         "solver.")
                                   : FitWords::tr(
                                         "Not known: schedules need at least %1, and none that small was "
                                         "found yet. Solve to look for one.");
    answer.detail = answer.detail.arg(bytes_text(is_known ? *smallest : least));
    return answer;
}

QStringList conditions_of(const LoadedGraph& graph, const Question& question) {
    QStringList conditions;
    const QString optimizer = text(told_of_origin(graph, "optimizer"));
    const bool updates = std::any_of(graph.graph.ops.begin(), graph.graph.ops.end(),
                                     [](const Op& op) { return op.phase == Phase::optimizer; });
    if (updates)
        conditions << (captured_optimizers().contains(optimizer)
                           ? FitWords::tr("with the optimizer %1").arg(optimizer)
                           : FitWords::tr("with the optimizer"));
    else
        conditions << FitWords::tr("without an optimizer, whose states come on top");
    if (text(told_of_origin(graph, "workspaces")).contains("zero"))
        conditions << FitWords::tr("from shapes: workspaces of kernels are not counted");
    else if (told_of_origin(graph, "captured") == "from shapes")
        conditions << FitWords::tr("from shapes");
    const QString times = text(told_of_origin(graph, "times"));
    const std::optional<Device>& device = graph.graph.device;
    if (times.startsWith("roofline model of "))
        conditions << FitWords::tr("times estimated for %1").arg(times.mid(18));
    else if (!times.isEmpty() && device)
        conditions << FitWords::tr("times measured on %1").arg(text(device->name));
    else if (device)
        conditions << FitWords::tr("times of %1").arg(text(device->name));
    if (question.copies.what != Offload::none) {
        const QString link = text(link_name(question.copies.links));
        const bool assumed =
            told_of_origin(graph, "device_type") == "cpu" && device && device->links == question.copies.links;
        conditions << (assumed ? FitWords::tr("copies over %1, which is assumed").arg(link)
                               : FitWords::tr("copies over %1").arg(link));
    }
    return conditions;
}

std::vector<Card> known_cards() {
    std::vector<Card> cards;
    for (const std::string& name : names_of(builtin_profiles())) {
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
