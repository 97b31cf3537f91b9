// How the curves of a sweep are told apart: a solver has a colour and a shape, what it may copy a dash and a name.
#pragma once

#include <string>
#include <vector>

#include "core/planning/sweep.h"

namespace rematlas {

/// "atlas with copies of activations over PCI Express 4.0 x16", in the language of pictures.
std::string curve_name(const SweepCurve& curve);

/// Lengths on and off of its line, by what it may copy; empty: solid.
std::vector<double> curve_dash(const SweepCurve& curve);

/// The place of a curve's colour in the palette, and of its shape among the shapes. A solver has its own,
/// whatever other curves there are.
std::size_t curve_look(const SweepCurve& curve);

/// Whether any curve has schedules with copies to the host.
bool has_copies(const Sweep& sweep);

/// Points of a curve that no other point of it beats: peaks ascending, overheads descending.
struct FoundCurve {
    std::vector<int> best;    ///< indices into the points of the curve
    std::vector<int> beaten;  ///< the other schedules
};
FoundCurve found_in(const SweepCurve& curve);
bool was_found(const SweepPoint& point);

/// No schedule within the budget, or a smaller one, is faster.
struct BoundStep {
    Bytes budget;
    double overhead;
};

/// A falling staircase of what is proven of all schedules that may copy just this.
struct BoundCurve {
    Offload what = Offload::none;
    std::vector<BoundStep> steps;  ///< by budget
};

/// One for each of what the curves of the sweep may copy, where anything is proven of it.
std::vector<BoundCurve> bound_curves(const Sweep& sweep);

/// "proven lower bound", with what schedules may copy where it is not nothing.
std::string bound_name(const BoundCurve& bound);

}  // namespace rematlas
