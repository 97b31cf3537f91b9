#include "app/explorer/look/shown_range.h"

#include <algorithm>
#include <cmath>

namespace rematlas::explorer {
namespace {

constexpr double least_part = 1e-5;  ///< the smallest part of the axis that can be shown, as a share of the
                                     ///< axis

}  // namespace

bool ShownRange::is_all() const {
    return span() >= length_ * (1 - 1e-9);
}

void ShownRange::show_all(double length) {
    length_ = std::max(length, 1e-6);
    set(0, length_);
}

void ShownRange::set(double from, double to) {
    const double span = std::clamp(to - from, length_ * least_part, length_);
    from_ = std::clamp(from, 0.0, length_ - span);
    to_ = from_ + span;
}

void ShownRange::zoom(double at, double factor) {
    const double wanted = std::min(span() * factor, length_), share = (at - from_) / span();
    set(at - share * wanted, at - share * wanted + wanted);
}

void ShownRange::press(double x) {
    press_x_ = x;
    press_from_ = from_;
    dragged_ = false;
}

bool ShownRange::drag(double x, double width) {
    if (!dragged_ && std::abs(x - press_x_) < click_reach) return false;
    dragged_ = true;
    const double from = press_from_ - (x - press_x_) / width * span();
    set(from, from + span());
    return true;
}

double wheel_factor(int turn) {
    return std::pow(1.0015, -turn);
}

}  // namespace rematlas::explorer
