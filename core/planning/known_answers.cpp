#include "core/planning/known_answers.h"

#include <algorithm>

#include "core/checking/check_pins.h"

namespace rematlas {
namespace {

bool has_all(const Pins& pins, const Pins& wanted) {
    return std::all_of(wanted.begin(), wanted.end(), [&](const Pin& pin) {
        return std::find(pins.begin(), pins.end(), pin) != pins.end();
    });
}

/// Compares two host budgets: says whether every schedule that keeps `less` also keeps `most`. An absent
/// budget allows any number of bytes.
bool is_no_more(const std::optional<Bytes>& less, const std::optional<Bytes>& most) {
    return !most || (less && *less <= *most);
}

/// Says whether `allowed` allows every schedule that `made` allows.
bool are_allowed(const Copies& made, const Copies& allowed) {
    if (made.what == Offload::none) return true;
    return is_within(made.what, allowed.what) && made.links == allowed.links &&
           is_no_more(made.host_budget, allowed.host_budget);
}

}  // namespace

Copies copies_of(const Graph& graph, const Schedule& schedule) {
    Copies copies;
    if (class_of(schedule.steps) < ScheduleClass::with_copies && schedule.homes == Homes{}) return copies;
    copies.what = Offload::all;
    for (const Offload what : {Offload::weights, Offload::activations})
        if (keeps_to(graph, {.what = what}, schedule)) copies.what = what;
    if (schedule.links)
        copies.links = *schedule.links;
    else if (graph.device)
        copies.links = graph.device->links;
    copies.host_budget = schedule.host_budget;
    return copies;
}

Question question_of(const Graph& graph, const Schedule& schedule) {
    return {schedule.budget.value > 0 ? schedule.budget : schedule.peak, copies_of(graph, schedule),
            schedule.pins};
}

bool may_answer(const Graph& graph, const Schedule& schedule, const Question& question) {
    if (schedule.peak > question.budget) return false;
    Copies made = copies_of(graph, schedule);
    made.host_budget = schedule.host_peak;
    if (!are_allowed(made, question.copies)) return false;
    return has_all(schedule.pins, question.pins) || broken_pins(graph, schedule.steps, question.pins).empty();
}

KnownAnswers::KnownAnswers(const Graph& graph)
    : graph_(&graph), with_weights_(class_within(graph, Offload::weights)) {}

/// Says whether a proof about all schedules of the class `over` that may answer `proven` also covers all
/// schedules that may answer `asked`. The function does not compare the budgets on the device.
bool KnownAnswers::holds(const Question& proven, ScheduleClass over, const Question& asked) const {
    const Offload what = asked.copies.what;
    const ScheduleClass needed = moves_weights(what) ? with_weights_ : class_within(*graph_, what);
    return holds_for(over, needed) && are_allowed(asked.copies, proven.copies) &&
           has_all(asked.pins, proven.pins);
}

void KnownAnswers::add(const Schedule& schedule) {
    Question question = question_of(*graph_, schedule);
    if (schedule.bound && schedule.bound->over && schedule.budget.value > 0)
        add_bound(question, *schedule.bound->over, schedule.bound->overhead);
    question.copies.host_budget = schedule.host_peak;
    add_peak(std::move(question), schedule.peak);
}

void KnownAnswers::add_peak(Question question, Bytes peak) {
    if (const auto known = smallest(question); known && *known <= peak) return;
    found_.push_back({std::move(question), peak});
}

void KnownAnswers::add_bound(Question question, ScheduleClass over, double overhead) {
    const auto is_weaker = [&](const Bounded& other) {
        return over >= other.over && other.overhead <= overhead && other.question.budget <= question.budget &&
               are_allowed(other.question.copies, question.copies) &&
               has_all(other.question.pins, question.pins);
    };
    std::erase_if(bounds_, is_weaker);
    bounds_.push_back({std::move(question), over, overhead});
}

void KnownAnswers::add_needed(Question question, ScheduleClass over, Bytes needed) {
    needed_.push_back({std::move(question), over, needed});
}

std::optional<double> KnownAnswers::bound(const Question& question) const {
    std::optional<double> best;
    for (const Bounded& known : bounds_) {
        if (known.question.budget < question.budget || (best && known.overhead <= *best)) continue;
        if (holds(known.question, known.over, question)) best = known.overhead;
    }
    return best;
}

std::optional<Bytes> KnownAnswers::smallest(const Question& question) const {
    std::optional<Bytes> least;
    for (const Found& known : found_) {
        if (least && known.peak >= *least) continue;
        if (are_allowed(known.question.copies, question.copies) &&
            has_all(known.question.pins, question.pins))
            least = known.peak;
    }
    return least;
}

Bytes KnownAnswers::needed(const Question& question) const {
    Bytes most;
    for (const Needed& known : needed_)
        if (known.bytes > most && holds(known.question, known.over, question)) most = known.bytes;
    return most;
}

Schedule with_known_bound(const Graph& graph, const KnownAnswers& known, Schedule schedule) {
    const Question question = question_of(graph, schedule);
    const std::optional<double> bound = known.bound(question);
    if (!bound || (schedule.bound && schedule.bound->overhead >= *bound)) return schedule;
    if (!schedule.bound) schedule.bound.emplace();
    schedule.bound->overhead = *bound;
    schedule.bound->gap = gap_above(schedule.overhead, *bound);
    schedule.bound->over = class_within(graph, question.copies.what);
    return schedule;
}

}  // namespace rematlas
