// How the curves of a sweep are told apart: a solver has a colour and a shape, and the copies that it may
// make have a dash and a name.
#pragma once

#include <string>
#include <vector>

#include "core/planning/sweep.h"

namespace rematlas {

/// "atlas with copies of activations over PCI Express 4.0 x16", in the language of pictures.
std::string curve_name(const SweepCurve& curve);

/// The lengths on and off of the curve's line, by the copies that its schedules may make; empty: solid.
std::vector<double> curve_dash(const SweepCurve& curve);

/// The place of a curve's colour in the palette, and of its shape among the shapes. A solver has its own,
/// whatever other curves there are.
std::size_t curve_look(const SweepCurve& curve);

/// Whether any curve has schedules with copies to the host.
bool has_copies(const Sweep& sweep);

/// The schedules of a curve. No other schedule of the curve beats those in `best`, whose peaks ascend while
/// their overheads descend.
struct FoundCurve {
    std::vector<int> best;    ///< indices into the points of the curve
    std::vector<int> beaten;  ///< the other schedules
};
FoundCurve found_in(const SweepCurve& curve);
bool was_found(const SweepPoint& point);

/// No schedule within the budget, or within a smaller budget, has a smaller overhead.
struct BoundStep {
    Bytes budget;
    double overhead;
};

/// The bounds that are proven of all schedules that may make the copies `what`, as a falling staircase.
struct BoundCurve {
    Offload what = Offload::none;
    std::vector<BoundStep> steps;  ///< by budget
};

/// One curve for each kind of copies in the sweep for which a bound is proven.
std::vector<BoundCurve> bound_curves(const Sweep& sweep);

/// "proven lower bound", with the copies that schedules may make if there are any.
std::string bound_name(const BoundCurve& bound);

}  // namespace rematlas
