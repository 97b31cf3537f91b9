#include "viz/layout/cluster_layout.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "viz/layout/edge_routes.h"
#include "viz/layout/layout_units.h"
#include "viz/layout/sections.h"
#include "viz/layout/unit_frames.h"

namespace rematlas {

namespace {

/// Returns the request as bytes: the key of the cache, equal for equal requests.
std::string shape_of(const LayoutRequest& request) {
    std::string shape;
    const auto add = [&](auto value) {
        char bytes[sizeof value];
        std::memcpy(bytes, &value, sizeof value);
        shape.append(bytes, sizeof value);
    };
    for (double gap : {request.rank_gap, request.item_gap}) add(gap);
    for (std::size_t count : {request.items.size(), request.edges.size(), request.pairs.size()}) add(count);
    for (const LayoutItem& item : request.items) {
        add(item.size.width);
        add(item.size.height);
        add(item.cluster);
        add(item.row);
    }
    for (const LayoutEdge& edge : request.edges) {
        add(edge.from);
        add(edge.to);
        add(edge.role);
        add(edge.weight);
    }
    for (const LayoutPair& pair : request.pairs) {
        add(pair.left);
        add(pair.right);
    }
    return shape;
}

/// Uses several worker programs in parallel if there are enough requests.
class LayoutTeam {
  public:
    explicit LayoutTeam(const LayoutLimits& limits) {
        const unsigned most = std::clamp(std::thread::hardware_concurrency(), 1u, 4u);
        for (unsigned i = 0; i < most; ++i) team_.push_back(std::make_unique<LayoutWorker>(limits));
    }

    Result<std::vector<Layout>> lay_out(std::span<const LayoutRequest> requests) {
        const std::size_t members = std::clamp(requests.size() / kEnough, std::size_t{1}, team_.size());
        if (members == 1) return team_.front()->lay_out(requests);
        std::vector<std::vector<LayoutRequest>> shares(members);
        for (std::size_t i = 0; i < requests.size(); ++i) shares[i % members].push_back(requests[i]);
        // A program ends when the thread that started it ends, so this thread starts all programs.
        for (std::size_t m = 0; m < members; ++m)
            if (auto started = team_[m]->start(); !started) return started.error();
        std::vector<Result<std::vector<Layout>>> answers(members, std::vector<Layout>());
        {
            std::vector<std::jthread> threads;
            for (std::size_t m = 0; m < members; ++m)
                threads.emplace_back([&, m] { answers[m] = team_[m]->lay_out(shares[m]); });
        }
        std::vector<Layout> layouts;
        for (const auto& answer : answers)
            if (!answer) return answer.error();
        for (std::size_t i = 0; i < requests.size(); ++i)
            layouts.push_back(std::move((*answers[i % members])[i / members]));
        return layouts;
    }

  private:
    static constexpr std::size_t kEnough = 6;  // several programs run only if each gets at least this
                                               // many requests
    std::vector<std::unique_ptr<LayoutWorker>> team_;
};

std::size_t points_of(const Layout& layout) {
    std::size_t points = 2 * (layout.items.size() + layout.clusters.size());
    for (const auto& spline : layout.edges) points += spline.size() + 2;
    return points;
}

class ClusterLayout {
  public:
    ClusterLayout(const LayoutRequest& request, LayoutCache& cache, const LayOut& lay_out,
                  std::stop_token stop)
        : request_(request),
          cache_(cache),
          lay_out_(lay_out),
          stop_(std::move(stop)),
          parts_(units_of(request)),
          frames_(parts_.units.size()) {}

    Result<Layout> run() {
        if (auto done = lay_out_all(); !done) return done.error();
        put_in_place();
        return whole();
    }

    /// `boxes` has a size for each cluster of the request. A cluster with an empty size has a box as large as
    /// its content.
    Result<CollapsedFrames> run_collapsed(const std::vector<Size>& boxes) {
        collapsed_ = &boxes;
        if (auto done = lay_out_all(); !done) return done.error();
        CollapsedFrames layouts;
        for (const LayoutUnit& unit : parts_.units) {
            layouts.cluster_of_unit.push_back(unit.clusters[0]);
            layouts.twin_of_unit.push_back(unit.clusters[1]);
        }
        for (const auto& frames : frames_) layouts.frames.push_back(*frames);
        layouts.parts = std::move(parts_);
        return layouts;
    }

  private:
    using Kept = std::vector<std::shared_ptr<const Layout>>;
    static constexpr std::size_t kTogether = 32;  ///< maximum number of requests in one call

    Result<void> lay_out_all() {
        for (int height = 0; height <= parts_.units.front().height; ++height)
            if (auto done = lay_out_units(height); !done) return done.error();
        return {};
    }

    Result<void> lay_out_units(int height) {
        std::vector<LayoutRequest> missing;
        std::unordered_map<std::string, std::size_t> place;  // for each shape: its index in `missing`
        std::vector<std::pair<std::size_t, std::string>> at_height;
        for (std::size_t u = 0; u < parts_.units.size(); ++u) {
            LayoutUnit& unit = parts_.units[u];
            if (unit.height != height) continue;
            size_boxes(unit);
            std::string shape = shape_of(unit.request);
            if (auto known = cache_.find(shape)) {
                frame(u, known);
                continue;
            }
            if (place.try_emplace(shape, missing.size()).second) missing.push_back(unit.request);
            at_height.emplace_back(u, std::move(shape));
        }
        auto kept = lay_out_missing(missing, place);
        if (!kept) return kept.error();
        for (const auto& [u, shape] : at_height) frame(u, (*kept)[place.at(shape)]);
        return {};
    }

    /// Lays out a few requests in each call, so that finished layouts are in the cache when the work is
    /// stopped.
    Result<Kept> lay_out_missing(const std::vector<LayoutRequest>& missing,
                                 const std::unordered_map<std::string, std::size_t>& place) {
        std::vector<const std::string*> shapes(missing.size());
        for (const auto& [shape, i] : place) shapes[i] = &shape;
        Kept kept;
        while (kept.size() < missing.size()) {
            if (stop_.stop_requested()) break;
            const std::size_t begin = kept.size(), count = std::min(kTogether, missing.size() - begin);
            auto layouts = lay_out_(std::span(missing).subspan(begin, count));
            if (!layouts) return layouts.error();
            for (Layout& layout : *layouts)
                kept.push_back(cache_.keep(*shapes[kept.size()], std::move(layout)));
        }
        if (stop_.stop_requested()) return Error{"layout: stopped", ErrorKind::negative};
        return kept;
    }

    void size_boxes(LayoutUnit& unit) const {
        for (std::size_t m = 0; m < unit.members.size(); ++m) {
            const UnitMember& member = unit.members[m];
            if (member.unit >= 0) unit.request.items[m].size = size_of_box(member);
        }
    }

    Size size_of_box(const UnitMember& member) const {
        const int cluster = parts_.units[member.unit].clusters[member.frame];
        if (collapsed_ && (*collapsed_)[cluster].width > 0) return (*collapsed_)[cluster];
        return frames_[member.unit]->size(member.frame);
    }

    void frame(std::size_t u, std::shared_ptr<const Layout> layout) {
        std::array<Size, 2> titles;
        for (int side : {0, 1}) {
            const int cluster = parts_.units[u].clusters[side];
            if (cluster >= 0) titles[side] = request_.clusters[cluster].title;
        }
        frames_[u].emplace(parts_.units[u], std::move(layout), titles);
    }

    /// Goes from the outside in, so that each box is in its place before its content is placed.
    void put_in_place() {
        for (std::size_t u = 1; u < parts_.units.size(); ++u) {
            const LayoutUnit& unit = parts_.units[u];
            for (int side : {0, 1}) {
                if (unit.clusters[side] < 0) continue;
                const Rect box = member_rect(unit.parent, unit.member_of_parent[side]);
                frames_[u]->move(side, {box.x, box.y});
            }
        }
    }

    Rect member_rect(int unit, int member) const {
        const UnitFrames& frames = *frames_[unit];
        return frames.place(frames.layout().items[member], parts_.units[unit].members[member].side);
    }

    Rect item_rect(int item) const {
        return member_rect(parts_.unit_of_item[item], parts_.member_of_item[item]);
    }

    Layout whole() const {
        Layout layout;
        layout.size = frames_.front()->size(0);
        for (std::size_t i = 0; i < request_.items.size(); ++i)
            layout.items.push_back(item_rect(static_cast<int>(i)));
        layout.clusters.resize(request_.clusters.size());
        for (std::size_t u = 1; u < parts_.units.size(); ++u)
            for (int side : {0, 1})
                if (const int c = parts_.units[u].clusters[side]; c >= 0)
                    layout.clusters[c] = frames_[u]->frame(side);
        std::vector<UnitFrames> frames;
        for (const auto& f : frames_) frames.push_back(*f);
        for (std::size_t i = 0; i < request_.edges.size(); ++i) layout.edges.push_back(route(i, frames));
        return layout;
    }

    Spline route(std::size_t i, const std::vector<UnitFrames>& frames) const {
        const LayoutEdge& edge = request_.edges[i];
        const EdgePlan& plan = parts_.edges[i];
        if (edge.from == edge.to) return {};
        if (plan.across < 0) return joined_route(plan, parts_.units, frames);
        return route_across(item_rect(edge.from), item_rect(edge.to), member_rect(plan.across, plan.ends[0]),
                            member_rect(plan.across, plan.ends[1]));
    }

    const LayoutRequest& request_;
    LayoutCache& cache_;
    const LayOut& lay_out_;
    std::stop_token stop_;
    LayoutUnits parts_;
    std::vector<std::optional<UnitFrames>> frames_;  ///< for each unit; empty until the unit is laid out
    const std::vector<Size>* collapsed_ = nullptr;   ///< null if no frame is collapsed
};

/// Converts cluster indices of the request with sections to those of the original request: `before[c]`
/// replaces index c.
void forget_sections(std::vector<int>& clusters, const std::vector<int>& before) {
    for (int& cluster : clusters)
        if (cluster >= 0) cluster = before[cluster];
}

}  // namespace

std::shared_ptr<const Layout> LayoutCache::find(const std::string& shape) const {
    std::lock_guard lock(mutex_);
    const auto found = layouts_.find(shape);
    return found == layouts_.end() ? nullptr : found->second;
}

std::shared_ptr<const Layout> LayoutCache::keep(const std::string& shape, Layout layout) {
    std::lock_guard lock(mutex_);
    const std::size_t points = points_of(layout);
    if (points_ + points > most_points_) {
        layouts_.clear();
        points_ = 0;
    }
    const auto [place, fresh] = layouts_.try_emplace(shape);
    if (fresh) {
        place->second = std::make_shared<const Layout>(std::move(layout));
        points_ += points;
    }
    return place->second;
}

Result<Layout> layout_by_clusters(const LayoutRequest& request, LayoutCache& cache, const LayOut& lay_out,
                                  std::stop_token stop) {
    if (request.items.empty()) return Layout{};
    const SectionedRequest sectioned = with_sections(request);
    auto layout = ClusterLayout(sectioned.request, cache, lay_out, std::move(stop)).run();
    if (!layout) return layout;
    std::vector<Rect> frames;
    for (int c : sectioned.cluster_of) frames.push_back(layout->clusters[c]);
    layout->clusters = std::move(frames);
    return layout;
}

Result<Layout> layout_by_clusters(const LayoutRequest& request, LayoutCache& cache,
                                  const LayoutLimits& limits) {
    LayoutTeam team(limits);
    return layout_by_clusters(
        request, cache, [&](std::span<const LayoutRequest> requests) { return team.lay_out(requests); },
        limits.stop);
}

Result<CollapsedFrames> layouts_of_frames(const LayoutRequest& request, std::span<const Size> collapsed,
                                          LayoutCache& cache, const LayoutLimits& limits) {
    if (request.items.empty()) return CollapsedFrames{};
    const SectionedRequest sectioned = with_sections(request);
    std::vector<Size> boxes(sectioned.request.clusters.size());
    std::vector<int> before(boxes.size(), -1);
    for (std::size_t c = 0; c < request.clusters.size(); ++c) {
        boxes[sectioned.cluster_of[c]] = collapsed[c];
        before[sectioned.cluster_of[c]] = static_cast<int>(c);
    }
    LayoutTeam team(limits);
    const LayOut lay_out = [&](std::span<const LayoutRequest> requests) { return team.lay_out(requests); };
    auto layouts = ClusterLayout(sectioned.request, cache, lay_out, limits.stop).run_collapsed(boxes);
    if (!layouts) return layouts;
    forget_sections(layouts->cluster_of_unit, before);
    forget_sections(layouts->twin_of_unit, before);
    return layouts;
}

}  // namespace rematlas
