// How the curves of a sweep are distinguished: each solver has a colour and a shape, and each kind of copies
// has a dash and a name.
#pragma once

#include <string>
#include <vector>

#include "core/planning/sweep.h"

namespace rematlas {

/// Returns the name of a curve, such as "atlas with copies of activations over PCI Express 4.0 x16", in the
/// language of the pictures.
std::string curve_name(const SweepCurve& curve);

/// Returns the dashes of the curve's line, as lengths of strokes and gaps. They depend on the copies that the
/// curve's schedules may make. The result is empty for a solid line.
std::vector<double> curve_dash(const SweepCurve& curve);

/// Returns the index of a curve's colour in the palette, which is also the index of its shape. A solver has
/// the same index in every sweep.
std::size_t curve_look(const SweepCurve& curve);

/// Says whether any curve has schedules with copies to the host.
bool has_copies(const Sweep& sweep);

/// The schedules of a curve. `best` is the Pareto front of peak and overhead: peaks ascend and overheads
/// descend.
struct FoundCurve {
    std::vector<int> best;    ///< indices into the points of the curve
    std::vector<int> beaten;  ///< the other schedules
};
FoundCurve found_in(const SweepCurve& curve);
bool was_found(const SweepPoint& point);

/// A proof that every schedule within this budget has at least this overhead. It holds for smaller budgets as
/// well.
struct BoundStep {
    Bytes budget;
    double overhead;
};

/// The bounds that are proven for all schedules that may make the copies `what`, as a falling staircase.
struct BoundCurve {
    Offload what = Offload::none;
    std::vector<BoundStep> steps;  ///< sorted by budget
};

/// Returns a curve for each kind of copies for which the sweep proves a bound.
std::vector<BoundCurve> bound_curves(const Sweep& sweep);

/// Returns "proven lower bound", followed by the copies that schedules may make if there are any.
std::string bound_name(const BoundCurve& bound);

}  // namespace rematlas
