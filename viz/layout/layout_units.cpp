#include "viz/layout/layout_units.h"

#include <algorithm>
#include <compare>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace rematlas {

namespace {

/// Maximum number of ports on one side of a border. If the edges of more members pass this side, several
/// members share a port.
constexpr int kMostPorts = 10;
constexpr Size kPort{1, 1};

struct PortSide {
    int side = 0;
    bool top = false;
    bool out = false;
    auto operator<=>(const PortSide&) const = default;
};

struct SmallEdge {
    int from = -1, to = -1;
    EdgeRole role = EdgeRole::down;
    auto operator<=>(const SmallEdge&) const = default;
};

/// A member of a unit, by index.
struct Place {
    int unit = -1, member = -1;
};

/// What is known of a unit's request while its edges are added one by one. `finish` completes the request.
struct Draft {
    std::map<PortSide, std::set<int>> wanted;  ///< for each side of a border: members whose edges pass it
    std::map<PortSide, int> first_port;        ///< for each side of a border: the first item that is its port
    std::map<SmallEdge, double> edges;
    std::set<std::pair<int, int>> pairs;
};

bool is_flow(EdgeRole role) {
    return role == EdgeRole::down || role == EdgeRole::up;
}

class UnitBuilder {
  public:
    explicit UnitBuilder(const LayoutRequest& request) : request_(request) {}

    LayoutUnits build() {
        make_units();
        place_members();
        drafts_.resize(units_.size());
        for (const LayoutEdge& edge : request_.edges) want_ports(edge);
        for (std::size_t u = 0; u < units_.size(); ++u) number_ports(u);
        pair_members();
        for (const LayoutEdge& edge : request_.edges) add_edge(edge);
        for (std::size_t u = 0; u < units_.size(); ++u) finish(u);
        for (std::size_t i = 0; i < result_.edges.size(); ++i) resolve(i);
        return std::move(result_);
    }

  private:
    // Units

    void make_units() {
        units_.push_back({});
        unit_of_.assign(request_.clusters.size(), -1);
        side_of_.assign(request_.clusters.size(), 0);
        for (std::size_t i = 0; i < request_.clusters.size(); ++i) {
            if (unit_of_[i] >= 0) continue;
            const int c = static_cast<int>(i), twin = twin_of(c);
            LayoutUnit unit;
            unit.parent = unit_around(c);
            unit.clusters = {c, twin};
            unit_of_[i] = static_cast<int>(units_.size());
            if (twin >= 0) {
                unit_of_[twin] = unit_of_[i];
                side_of_[twin] = 1;
            }
            units_.push_back(std::move(unit));
        }
    }

    /// Returns the unit around a cluster; -1 while it is not known.
    int unit_around(int cluster) const {
        const int parent = request_.clusters[cluster].parent;
        return parent < 0 ? 0 : unit_of_[parent];
    }

    /// Returns the twin of `c` if it has a larger index than `c` and shares a unit with `c`; else -1. Twins
    /// share a unit if the same unit is around both.
    int twin_of(int c) const {
        const int twin = request_.clusters[c].twin;
        if (twin <= c || request_.clusters[twin].twin != c || unit_of_[twin] >= 0) return -1;
        return unit_around(twin) == unit_around(c) ? twin : -1;
    }

    void place_members() {
        std::vector<int> first(request_.clusters.size(), static_cast<int>(request_.items.size()));
        for (std::size_t i = request_.items.size(); i-- > 0;)
            for (int c = request_.items[i].cluster; c >= 0; c = request_.clusters[c].parent)
                first[c] = static_cast<int>(i);
        for (std::size_t i = 0; i < request_.items.size(); ++i) {
            const int c = request_.items[i].cluster, item = static_cast<int>(i);
            result_.unit_of_item.push_back(c < 0 ? 0 : unit_of_[c]);
            units_[c < 0 ? 0 : unit_of_[c]].members.push_back(
                {.item = item, .side = c < 0 ? 0 : side_of_[c], .first_item = item});
        }
        for (std::size_t c = 0; c < request_.clusters.size(); ++c) {
            const int parent = request_.clusters[c].parent;
            units_[unit_around(static_cast<int>(c))].members.push_back(
                {.unit = unit_of_[c],
                 .frame = side_of_[c],
                 .side = parent < 0 ? 0 : side_of_[parent],
                 .first_item = first[c]});
        }
        result_.member_of_item.assign(request_.items.size(), -1);
        for (std::size_t u = units_.size(); u-- > 0;) number_members(u);
    }

    void number_members(std::size_t u) {
        LayoutUnit& unit = units_[u];
        std::sort(unit.members.begin(), unit.members.end(), [](const UnitMember& a, const UnitMember& b) {
            return std::tuple(a.first_item, a.item < 0, a.unit, a.frame) <
                   std::tuple(b.first_item, b.item < 0, b.unit, b.frame);
        });
        for (std::size_t m = 0; m < unit.members.size(); ++m) {
            const UnitMember& member = unit.members[m];
            const int at = static_cast<int>(m);
            if (member.item >= 0) {
                result_.member_of_item[member.item] = at;
            } else {
                units_[member.unit].member_of_parent[member.frame] = at;
                unit.height = std::max(unit.height, units_[member.unit].height + 1);
            }
        }
    }

    // Edges

    Place place_of(int item) const { return {result_.unit_of_item[item], result_.member_of_item[item]}; }
    int side_of(Place p) const { return units_[p.unit].members[p.member].side; }
    Place around(Place p) const {
        return {units_[p.unit].parent, units_[p.unit].member_of_parent[side_of(p)]};
    }

    /// Returns, for each of the two items, the members that contain the item: one in each unit, from the
    /// innermost unit around the item out to the innermost unit that contains both items.
    std::pair<std::vector<Place>, std::vector<Place>> climb(int from, int to) const {
        std::vector<Place> a{place_of(from)}, b{place_of(to)};
        // A unit has a larger index than the units around it, so the place in the unit with the larger index
        // climbs.
        while (a.back().unit != b.back().unit) {
            std::vector<Place>& deeper = a.back().unit > b.back().unit ? a : b;
            deeper.push_back(around(deeper.back()));
        }
        return {std::move(a), std::move(b)};
    }

    PortSide port_side(Place p, EdgeRole role, bool out) const {
        return {side_of(p), (role == EdgeRole::down) != out, out};
    }

    void want_ports(const LayoutEdge& edge) {
        if (edge.from == edge.to || !is_flow(edge.role)) return;
        const auto [a, b] = climb(edge.from, edge.to);
        for (std::size_t i = 0; i + 1 < a.size(); ++i)
            drafts_[a[i].unit].wanted[port_side(a[i], edge.role, true)].insert(a[i].member);
        for (std::size_t i = 0; i + 1 < b.size(); ++i)
            drafts_[b[i].unit].wanted[port_side(b[i], edge.role, false)].insert(b[i].member);
    }

    static int ports_for(const std::set<int>& members) {
        return std::min(kMostPorts, static_cast<int>(members.size()));
    }

    void number_ports(std::size_t u) {
        LayoutUnit& unit = units_[u];
        const bool framed = unit.is_pair();
        for (const UnitMember& member : unit.members)
            unit.request.items.push_back({member.item >= 0 ? request_.items[member.item].size : Size{},
                                          framed ? member.side : -1, LayoutRow::any});
        for (const auto& [place, members] : drafts_[u].wanted) {
            drafts_[u].first_port[place] = static_cast<int>(unit.request.items.size());
            for (int i = 0; i < ports_for(members); ++i)
                unit.request.items.push_back(
                    {kPort, framed ? place.side : -1, place.top ? LayoutRow::first : LayoutRow::last});
        }
        if (framed) unit.request.clusters.resize(2);
        unit.request.rank_gap = request_.rank_gap;
        unit.request.item_gap = request_.item_gap;
    }

    int port_of(Place p, EdgeRole role, bool out) const {
        const Draft& draft = drafts_[p.unit];
        const PortSide place = port_side(p, role, out);
        const std::set<int>& members = draft.wanted.at(place);
        const auto rank = std::distance(members.begin(), members.find(p.member));
        const auto count = static_cast<std::ptrdiff_t>(members.size());
        return draft.first_port.at(place) + static_cast<int>(rank * ports_for(members) / count);
    }

    bool is_twin_box(Place p) const {
        const int unit = units_[p.unit].members[p.member].unit;
        return unit >= 0 && units_[unit].is_pair();
    }

    void pair_members() {
        for (std::size_t u = 1; u < units_.size(); ++u) {
            if (!units_[u].is_pair()) continue;
            const auto [left, right] = units_[u].member_of_parent;
            drafts_[units_[u].parent].pairs.emplace(left, right);
        }
        for (const LayoutPair& pair : request_.pairs) {
            const auto [a, b] = climb(pair.left, pair.right);
            if (a.back().member == b.back().member) continue;
            if (is_twin_box(a.back()) || is_twin_box(b.back())) continue;
            drafts_[a.back().unit].pairs.emplace(a.back().member, b.back().member);
        }
    }

    void add_edge(const LayoutEdge& edge) {
        steps_.emplace_back();
        result_.edges.emplace_back();
        if (edge.from == edge.to) return;
        if (is_flow(edge.role)) {
            add_flow(edge);
        } else {
            add_rung(edge);
        }
    }

    void add_flow(const LayoutEdge& edge) {
        const auto [a, b] = climb(edge.from, edge.to);
        for (std::size_t i = 0; i + 1 < a.size(); ++i)
            add_step(a[i], {a[i].member, port_of(a[i], edge.role, true), edge.role}, 1);
        add_step(a.back(), {a.back().member, b.back().member, edge.role}, edge.weight);
        for (std::size_t i = b.size() - 1; i-- > 0;)
            add_step(b[i], {port_of(b[i], edge.role, false), b[i].member, edge.role}, 1);
    }

    /// Adds an edge of role `rung` or `free`. If both items are direct members of the same unit, Graphviz
    /// routes the edge. Otherwise the edge is drawn straight across. Then a rung also makes a pair of the two
    /// members that contain its ends, so that these members are side by side. It makes no pair if the right
    /// member already is the right one of a pair, or is a box with a twin.
    void add_rung(const LayoutEdge& edge) {
        const auto [a, b] = climb(edge.from, edge.to);
        const Place from = a.back(), to = b.back();
        if (a.size() == 1 && b.size() == 1) {
            add_step(from, {from.member, to.member, edge.role}, edge.weight);
            return;
        }
        result_.edges.back().across = from.unit;
        result_.edges.back().ends = {from.member, to.member};
        if (edge.role == EdgeRole::free || is_twin_box(to)) return;
        std::set<std::pair<int, int>>& pairs = drafts_[from.unit].pairs;
        const bool held = std::any_of(pairs.begin(), pairs.end(),
                                      [&](const auto& pair) { return pair.second == to.member; });
        if (!held) pairs.emplace(from.member, to.member);
    }

    void add_step(Place place, SmallEdge edge, double weight) {
        double& known = drafts_[place.unit].edges[edge];
        known = std::max(known, weight);
        steps_.back().push_back({place.unit, edge, side_of(place)});
    }

    // Requests

    void finish(std::size_t u) {
        LayoutUnit& unit = units_[u];
        Draft& draft = drafts_[u];
        for (const auto& [edge, weight] : draft.edges)
            unit.request.edges.push_back({edge.from, edge.to, edge.role, weight});
        // An edge of role `rung` already keeps its two members side by side, so they need no pair.
        for (const auto& [left, right] : draft.pairs)
            if (!draft.edges.contains({left, right, EdgeRole::rung}))
                unit.request.pairs.push_back({left, right});
        hold_loose_members(unit);
    }

    /// Adds a pair for each member that is in no edge and no pair, because such a member would drift to the
    /// top and stretch the frame. Its partner is the next member of the same frame that has an edge or a
    /// pair; if no member after it has one, the partner is the last such member before it.
    static void hold_loose_members(LayoutUnit& unit) {
        const int count = static_cast<int>(unit.members.size());
        std::vector<char> held(unit.request.items.size(), 0);
        for (const LayoutEdge& edge : unit.request.edges) held[edge.from] = held[edge.to] = 1;
        for (const LayoutPair& pair : unit.request.pairs) held[pair.left] = held[pair.right] = 1;
        const auto neighbour = [&](int member, int step) {
            for (int m = member + step; m >= 0 && m < count; m += step)
                if (held[m] && unit.members[m].side == unit.members[member].side) return m;
            return -1;
        };
        for (int m = 0; m < count; ++m) {
            if (held[m]) continue;
            int other = neighbour(m, 1);
            if (other < 0) other = neighbour(m, -1);
            if (other >= 0) unit.request.pairs.push_back({m, other});
        }
    }

    struct Step {
        int unit;
        SmallEdge edge;
        int side;
    };

    void resolve(std::size_t i) {
        for (const Step& step : steps_[i]) {
            const auto& edges = units_[step.unit].request.edges;
            const auto at = std::lower_bound(
                edges.begin(), edges.end(), step.edge, [](const LayoutEdge& a, const SmallEdge& b) {
                    return std::tuple(a.from, a.to, a.role) < std::tuple(b.from, b.to, b.role);
                });
            result_.edges[i].pieces.push_back({step.unit, static_cast<int>(at - edges.begin()), step.side});
        }
    }

    const LayoutRequest& request_;
    LayoutUnits result_;
    std::vector<LayoutUnit>& units_ = result_.units;
    std::vector<int> unit_of_, side_of_;  ///< for each cluster
    std::vector<Draft> drafts_;
    std::vector<std::vector<Step>> steps_;  ///< for each edge
};

}  // namespace

LayoutUnits units_of(const LayoutRequest& request) {
    return UnitBuilder(request).build();
}

}  // namespace rematlas
