#include "viz/layout/layout.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace rematlas {

namespace {

using Json = nlohmann::json;

constexpr double kLargest = 1e7;  // largest coordinate or size, in points; 3.5 km of paper
constexpr std::size_t kMostEntries = 4'000'000;

/// The names of the roles, in the order of `EdgeRole`.
constexpr std::array kRoles = {"down", "up", "rung", "free"};

std::optional<EdgeRole> role_from(const Json& json) {
    const auto found = std::find(kRoles.begin(), kRoles.end(), json);
    return found == kRoles.end() ? std::nullopt
                                 : std::optional(static_cast<EdgeRole>(found - kRoles.begin()));
}

constexpr LayoutRow kRows[] = {LayoutRow::any, LayoutRow::first, LayoutRow::last};

Error wrong(const char* list, std::size_t i, const char* what) {
    return Error{std::string("layout: ") + list + "[" + std::to_string(i) + "]: " + what};
}

bool finite(const Json& json) {
    return json.is_number() && std::abs(json.get<double>()) <= kLargest;
}

bool length(const Json& json) {
    return finite(json) && json.get<double>() >= 0;
}

std::optional<int> index_in(const Json& json, int lowest, std::size_t count) {
    if (!json.is_number_integer()) return std::nullopt;
    auto value = json.get<std::int64_t>();
    if (value < lowest || value >= static_cast<std::int64_t>(count)) return std::nullopt;
    return static_cast<int>(value);
}

/// Returns the list `key` of `json`, or null if it is missing, too long or not a list of lists.
const Json* rows_of(const Json& json, const char* key) {
    auto found = json.find(key);
    if (found == json.end() || !found->is_array() || found->size() > kMostEntries) return nullptr;
    for (const Json& row : *found)
        if (!row.is_array()) return nullptr;
    return &*found;
}

Result<void> read_items(const Json& rows, std::size_t clusters, std::vector<LayoutItem>& items) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const Json& row = rows[i];
        if (row.size() != 4 || !length(row[0]) || !length(row[1]))
            return wrong("items", i, "not [width, height, cluster, row]");
        auto cluster = index_in(row[2], -1, clusters);
        if (!cluster) return wrong("items", i, "no such cluster");
        auto place = index_in(row[3], 0, std::size(kRows));
        if (!place) return wrong("items", i, "the row is not 0 (any), 1 (first) or 2 (last)");
        LayoutItem item{{row[0].get<double>(), row[1].get<double>()}, *cluster, kRows[*place]};
        if (item.size.width <= 0 || item.size.height <= 0)
            return wrong("items", i, "a size that is not positive");
        items.push_back(item);
    }
    return {};
}

Result<void> read_edges(const Json& rows, std::size_t items, std::vector<LayoutEdge>& edges) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const Json& row = rows[i];
        if (row.size() != 4 || !finite(row[3])) return wrong("edges", i, "not [from, to, role, weight]");
        auto from = index_in(row[0], 0, items);
        auto to = index_in(row[1], 0, items);
        auto role = role_from(row[2]);
        if (!from || !to) return wrong("edges", i, "no such item");
        if (!role) return wrong("edges", i, "the role is not down, up, rung or free");
        edges.push_back({*from, *to, *role, row[3].get<double>()});
    }
    return {};
}

Result<void> read_clusters(const Json& rows, std::vector<LayoutCluster>& clusters) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const Json& row = rows[i];
        if (row.size() != 4 || !length(row[1]) || !length(row[2]))
            return wrong("clusters", i, "not [parent, title width, title height, twin]");
        auto parent = index_in(row[0], -1, i);
        if (!parent) return wrong("clusters", i, "its parent does not come before it");
        auto twin = index_in(row[3], -1, rows.size());
        if (!twin) return wrong("clusters", i, "no such twin");
        clusters.push_back({*parent, {row[1].get<double>(), row[2].get<double>()}, *twin});
    }
    return {};
}

Result<void> read_pairs(const Json& rows, std::size_t items, std::vector<LayoutPair>& pairs) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const Json& row = rows[i];
        if (row.size() != 2) return wrong("pairs", i, "not [left, right]");
        auto left = index_in(row[0], 0, items), right = index_in(row[1], 0, items);
        if (!left || !right) return wrong("pairs", i, "no such item");
        pairs.push_back({*left, *right});
    }
    return {};
}

Result<void> read_rects(const Json& rows, const char* list, std::vector<Rect>& rects) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const Json& row = rows[i];
        if (row.size() != 4 || !finite(row[0]) || !finite(row[1]) || !length(row[2]) || !length(row[3]))
            return wrong(list, i, "not [x, y, width, height]");
        rects.push_back(
            {row[0].get<double>(), row[1].get<double>(), row[2].get<double>(), row[3].get<double>()});
    }
    return {};
}

Result<void> read_splines(const Json& rows, std::vector<std::vector<Point>>& splines) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const Json& row = rows[i];
        if (row.size() % 2 != 0 || (!row.empty() && (row.size() / 2) % 3 != 1))
            return wrong("edges", i, "not the points of cubic splines");
        std::vector<Point> points;
        for (std::size_t k = 0; k < row.size(); k += 2) {
            if (!finite(row[k]) || !finite(row[k + 1])) return wrong("edges", i, "a point that is no point");
            points.push_back({row[k].get<double>(), row[k + 1].get<double>()});
        }
        splines.push_back(std::move(points));
    }
    return {};
}

Json rects_json(const std::vector<Rect>& rects) {
    Json rows = Json::array();
    for (const Rect& r : rects) rows.push_back({r.x, r.y, r.width, r.height});
    return rows;
}

}  // namespace

Json to_json(const LayoutRequest& request) {
    Json items = Json::array(), edges = Json::array(), clusters = Json::array(), pairs = Json::array();
    for (const LayoutItem& item : request.items)
        items.push_back({item.size.width, item.size.height, item.cluster, static_cast<int>(item.row)});
    for (const LayoutEdge& edge : request.edges)
        edges.push_back({edge.from, edge.to, kRoles[static_cast<std::size_t>(edge.role)], edge.weight});
    for (const LayoutCluster& c : request.clusters)
        clusters.push_back({c.parent, c.title.width, c.title.height, c.twin});
    for (const LayoutPair& pair : request.pairs) pairs.push_back({pair.left, pair.right});
    return {{"format", "rematlas.layout-request"},
            {"pairs", std::move(pairs)},
            {"version", 1},
            {"items", std::move(items)},
            {"edges", std::move(edges)},
            {"clusters", std::move(clusters)},
            {"rank_gap", request.rank_gap},
            {"item_gap", request.item_gap}};
}

Json to_json(const Layout& layout) {
    Json edges = Json::array();
    for (const auto& spline : layout.edges) {
        Json row = Json::array();
        for (Point p : spline) {
            row.push_back(p.x);
            row.push_back(p.y);
        }
        edges.push_back(std::move(row));
    }
    return {{"format", "rematlas.layout"},
            {"version", 1},
            {"size", {layout.size.width, layout.size.height}},
            {"items", rects_json(layout.items)},
            {"edges", std::move(edges)},
            {"clusters", rects_json(layout.clusters)}};
}

Result<LayoutRequest> layout_request_from(const Json& json) {
    if (!json.is_object() || json.value("format", Json()) != "rematlas.layout-request")
        return Error{"layout: `format` is not rematlas.layout-request"};
    if (json.value("version", Json()) != 1) return Error{"layout: `version` is not 1"};
    const Json *items = rows_of(json, "items"), *edges = rows_of(json, "edges"),
               *clusters = rows_of(json, "clusters");
    if (!items || !edges || !clusters)
        return Error{"layout: `items`, `edges` and `clusters` must be lists of lists"};
    LayoutRequest request;
    for (auto [key, gap] : {std::pair{"rank_gap", &request.rank_gap}, {"item_gap", &request.item_gap}}) {
        if (!json.contains(key)) continue;
        if (!length(json[key])) return Error{std::string("layout: `") + key + "` is not a length"};
        *gap = json[key].get<double>();
    }
    if (auto read = read_clusters(*clusters, request.clusters); !read) return read.error();
    if (auto read = read_items(*items, request.clusters.size(), request.items); !read) return read.error();
    if (auto read = read_edges(*edges, request.items.size(), request.edges); !read) return read.error();
    if (!json.contains("pairs")) return request;
    const Json* pairs = rows_of(json, "pairs");
    if (!pairs) return Error{"layout: `pairs` must be a list of lists"};
    if (auto read = read_pairs(*pairs, request.items.size(), request.pairs); !read) return read.error();
    return request;
}

Result<Layout> layout_from(const Json& json) {
    if (!json.is_object() || json.value("format", Json()) != "rematlas.layout")
        return Error{"layout: `format` is not rematlas.layout"};
    if (json.value("version", Json()) != 1) return Error{"layout: `version` is not 1"};
    const Json *items = rows_of(json, "items"), *edges = rows_of(json, "edges"),
               *clusters = rows_of(json, "clusters");
    if (!items || !edges || !clusters)
        return Error{"layout: `items`, `edges` and `clusters` must be lists of lists"};
    Json size = json.value("size", Json());
    if (!size.is_array() || size.size() != 2 || !length(size[0]) || !length(size[1]))
        return Error{"layout: `size` is not [width, height]"};
    Layout layout;
    layout.size = {size[0].get<double>(), size[1].get<double>()};
    if (auto read = read_rects(*items, "items", layout.items); !read) return read.error();
    if (auto read = read_rects(*clusters, "clusters", layout.clusters); !read) return read.error();
    if (auto read = read_splines(*edges, layout.edges); !read) return read.error();
    return layout;
}

}  // namespace rematlas
