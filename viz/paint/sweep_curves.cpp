#include "viz/paint/sweep_curves.h"

#include <algorithm>

#include "core/costs/link_profile.h"
#include "core/planning/registry.h"
#include "viz/paint/palette.h"
#include "viz/paint/words.h"

namespace rematlas {

namespace {

/// Returns the name of a curve whose schedules make copies. Each case is a whole sentence, because other
/// languages have other word orders.
std::string copies_sentence(Offload what, bool link) {
    if (what == Offload::activations)
        return link ? say("Picture", "%1 with copies of activations over %2")
                    : say("Picture", "%1 with copies of activations");
    if (what == Offload::weights)
        return link ? say("Picture", "%1 with weights on the host over %2")
                    : say("Picture", "%1 with weights on the host");
    return link ? say("Picture", "%1 with copies of activations and weights over %2")
                : say("Picture", "%1 with copies of activations and weights");
}

std::string with_copies(const std::string& name, const Copies& copies) {
    if (copies.what == Offload::none) return name;
    const std::string link = link_name(copies.links);
    return filled(copies_sentence(copies.what, !link.empty()), {name, link});
}

/// Says whether the bound holds for schedules of any order, not only for schedules in Checkmate's stages.
bool is_of_any_order(const Bound& bound) {
    return bound.over && holds_for(*bound.over, ScheduleClass::any_order);
}

std::vector<BoundStep> steps_of(const Sweep& sweep, Offload what) {
    std::vector<BoundStep> bounds;
    for (const SweepCurve& curve : sweep.curves) {
        if (curve.copies.what != what) continue;
        for (const SweepPoint& point : curve.points)
            if (point.bound && point.bound->overhead > 1 && is_of_any_order(*point.bound))
                bounds.push_back({point.budget, point.bound->overhead});
    }
    std::sort(bounds.begin(), bounds.end(),
              [](const BoundStep& a, const BoundStep& b) { return a.budget > b.budget; });
    std::vector<BoundStep> best;
    for (const BoundStep& bound : bounds)
        if (best.empty() || bound.overhead > best.back().overhead) best.push_back(bound);
    std::reverse(best.begin(), best.end());
    return best;
}

}  // namespace

std::string curve_name(const SweepCurve& curve) {
    return with_copies(curve.solver, curve.copies);
}

std::vector<double> curve_dash(const SweepCurve& curve) {
    const std::vector<double> dashes[] = {{}, {7, 3}, {9, 3, 2, 3}, {4, 2}};
    return dashes[static_cast<std::size_t>(curve.copies.what)];
}

std::size_t curve_look(const SweepCurve& curve) {
    const auto known = all_solvers();
    return static_cast<std::size_t>(std::find(known.begin(), known.end(), find_solver(curve.solver)) -
                                    known.begin());
}

bool has_copies(const Sweep& sweep) {
    return std::any_of(sweep.curves.begin(), sweep.curves.end(),
                       [](const SweepCurve& curve) { return curve.copies.what != Offload::none; });
}

bool was_found(const SweepPoint& point) {
    return point.status != "infeasible" && point.peak.value > 0;
}

FoundCurve found_in(const SweepCurve& curve) {
    std::vector<int> all;
    for (std::size_t i = 0; i < curve.points.size(); ++i)
        if (was_found(curve.points[i])) all.push_back(static_cast<int>(i));
    auto cost = [&](int i) {
        const SweepPoint& point = curve.points[static_cast<std::size_t>(i)];
        return std::pair(point.peak, point.overhead);
    };
    std::stable_sort(all.begin(), all.end(), [&](int a, int b) { return cost(a) < cost(b); });
    FoundCurve found;
    for (int i : all) {
        bool better = found.best.empty() || cost(i).second < cost(found.best.back()).second - 1e-9;
        (better ? found.best : found.beaten).push_back(i);
    }
    return found;
}

std::vector<BoundCurve> bound_curves(const Sweep& sweep) {
    std::vector<BoundCurve> curves;
    for (const Offload what : {Offload::none, Offload::activations, Offload::weights, Offload::all})
        if (std::vector<BoundStep> steps = steps_of(sweep, what); !steps.empty())
            curves.push_back({what, std::move(steps)});
    return curves;
}

std::string bound_name(const BoundCurve& bound) {
    return with_copies(say("Picture", "proven lower bound"), {.what = bound.what});
}

}  // namespace rematlas
