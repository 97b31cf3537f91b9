#include "viz/layout/unit_frames.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace rematlas {

namespace {

constexpr double kMargin = 9;    // points between a frame and its content
constexpr double kPassing = 14;  // points above and below the content, where edges pass
constexpr double kBelowTitle = 8;

}  // namespace

UnitFrames::UnitFrames(const LayoutUnit& unit, std::shared_ptr<const Layout> layout,
                       std::array<Size, 2> titles)
    : layout_(std::move(layout)), pair_(unit.is_pair()) {
    first_ = std::numeric_limits<double>::max();
    last_ = 0;
    bool ports_above = false, ports_below = false;
    for (std::size_t i = 0; i < layout_->items.size(); ++i) {
        const Rect& r = layout_->items[i];
        if (unit.is_port(static_cast<int>(i))) {
            (unit.request.items[i].row == LayoutRow::first ? ports_above : ports_below) = true;
            continue;
        }
        first_ = std::min(first_, r.y);
        last_ = std::max(last_, r.y + r.height);
    }
    if (layout_->items.empty()) first_ = 0;
    end_ = std::max(last_, layout_->size.height);
    const bool sheet = unit.parent < 0;
    const double title = std::max(titles[0].height, titles[1].height);
    above_ = sheet ? first_ : title > 0 ? title + kBelowTitle : ports_above ? kPassing : kMargin;
    below_ = sheet ? end_ - last_ : ports_below ? kPassing : kMargin;
    height_ = above_ + (last_ - first_) + below_;
    frames_[0] = {0, 0, layout_->size.width, 0};
    if (pair_) {
        frames_ = {layout_->clusters[0], layout_->clusters[1]};
    } else if (!sheet) {
        frames_[0] = {-kMargin, 0, layout_->size.width + 2 * kMargin, 0};
    }
    hold_edges(unit);
    for (int side : {0, 1})
        if (titles[side].width > 0)
            frames_[side].width = std::max(frames_[side].width, titles[side].width + 2 * kMargin);
}

/// Widens each frame so that its edges stay inside: on the side away from the twin, edges can leave the frame
/// that Graphviz drew.
void UnitFrames::hold_edges(const LayoutUnit& unit) {
    if (unit.parent < 0) return;
    for (std::size_t i = 0; i < layout_->edges.size(); ++i) {
        const LayoutEdge& edge = unit.request.edges[i];
        const int side = pair_ ? unit.request.items[edge.from].cluster : 0;
        if (pair_ && unit.request.items[edge.to].cluster != side) continue;
        Rect& frame = frames_[side];
        double left = frame.x, right = frame.x + frame.width;
        for (Point p : layout_->edges[i]) {
            if (side == 0) left = std::min(left, p.x - kMargin);
            if (side == 1 || !pair_) right = std::max(right, p.x + kMargin);
        }
        frame = {left, frame.y, right - left, frame.height};
    }
}

double UnitFrames::inside(double y) const {
    if (y < first_)
        return first_ > begin_ ? above_ * std::max(0.0, (y - begin_) / (first_ - begin_)) : above_;
    if (y <= last_) return above_ + (y - first_);
    const double part = end_ > last_ ? std::min(1.0, (y - last_) / (end_ - last_)) : 0;
    return above_ + (last_ - first_) + below_ * part;
}

Point UnitFrames::place(Point p, int side) const {
    return {at_[side].x + p.x - frames_[side].x, at_[side].y + inside(p.y)};
}

Point UnitFrames::place_between(Point p) const {
    if (!pair_) return place(p, 0);
    const double left = layout_->clusters[0].x + layout_->clusters[0].width, right = frames_[1].x;
    if (p.x <= left) return place(p, 0);
    if (p.x >= right) return place(p, 1);
    const Point a = place(Point{left, p.y}, 0), b = place(Point{right, p.y}, 1);
    const double part = (p.x - left) / (right - left);
    return {a.x + part * (b.x - a.x), a.y + part * (b.y - a.y)};
}

Rect UnitFrames::place(const Rect& r, int side) const {
    const Point at = place(Point{r.x, r.y}, side);
    return {at.x, at.y, r.width, r.height};
}

}  // namespace rematlas
