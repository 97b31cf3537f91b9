#include "viz/layout/dot_layout.h"

#include <graphviz/gvc.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>

// Graphviz's layout engine `dot`. It is linked into the program. Graphviz would otherwise search for it in a
// folder of the system, which not every computer has.
extern "C" gvplugin_library_t gvplugin_dot_layout_LTX_library;

namespace rematlas {

namespace {

constexpr double kPointsPerInch = 72;
constexpr std::size_t kManyItems = 2000;

/// Returns the text as a mutable string. Graphviz's functions require mutable strings but never write to
/// them.
char* text(const char* constant) {
    return const_cast<char*>(constant);
}

void set(void* object, const char* name, const std::string& value) {
    agsafeset(object, text(name), text(value.c_str()), text(""));
}

std::string inches(double points) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.4f", points / kPointsPerInch);
    return digits;
}

/// Returns the context that all graphs of the program share.
GVC_t* shared_context() {
    static const lt_symlist_t engines[] = {
        {text("gvplugin_dot_layout_LTX_library"), &gvplugin_dot_layout_LTX_library}, {nullptr, nullptr}};
    constexpr int reads_no_plugins = 0;
    static GVC_t* context = gvContextPlugins(engines, reads_no_plugins);
    return context;
}

/// One graph in Graphviz's data structures. The destructor frees them in the order that Graphviz requires.
class DotGraph {
  public:
    explicit DotGraph(const LayoutRequest& request) : request_(request), context_(shared_context()) {
        graph_ = agopen(text("ladder"), Agdirected, nullptr);
        held_.resize(request.items.size());
        set_up_attributes();
        add_clusters();
        add_items();
        add_edges();
        add_pairs();
        add_row(LayoutRow::first, "first");
        add_row(LayoutRow::last, "last");
    }
    DotGraph(const DotGraph&) = delete;
    DotGraph& operator=(const DotGraph&) = delete;
    ~DotGraph() {
        if (laid_out_) gvFreeLayout(context_, graph_);
        agclose(graph_);
    }

    bool lay_out() {
        laid_out_ = gvLayout(context_, graph_, "dot") == 0;
        return laid_out_;
    }

    Layout result() {
        Layout layout;
        top_ = GD_bb(graph_).UR.y;
        left_ = GD_bb(graph_).LL.x;
        right_ = GD_bb(graph_).UR.x;
        mirrored_ = stands_the_wrong_way();
        layout.size = {rounded(right_ - left_), rounded(top_ - GD_bb(graph_).LL.y)};
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            Size size = request_.items[i].size;
            Point center = point(ND_coord(nodes_[i]));
            layout.items.push_back({rounded(center.x - size.width / 2), rounded(center.y - size.height / 2),
                                    size.width, size.height});
        }
        for (std::size_t i = 0; i < edges_.size(); ++i) layout.edges.push_back(spline(i));
        for (Agraph_t* cluster : clusters_) {
            Point low = point(GD_bb(cluster).LL), high = point(GD_bb(cluster).UR);
            layout.clusters.push_back({std::min(low.x, high.x), high.y, rounded(std::abs(high.x - low.x)),
                                       rounded(low.y - high.y)});
        }
        return layout;
    }

  private:
    void set_up_attributes() {
        set(graph_, "newrank", "true");
        set(graph_, "ranksep", inches(request_.rank_gap));
        set(graph_, "nodesep", inches(request_.item_gap));
        set(graph_, "labeljust", "l");
        if (request_.items.size() > kManyItems) {
            set(graph_, "nslimit", "2");
            set(graph_, "nslimit1", "2");
        }
        // With fixed sizes and empty labels, Graphviz looks up no fonts.
        for (auto [name, value] : {std::pair{"shape", "box"},
                                   {"fixedsize", "true"},
                                   {"label", ""},
                                   {"width", "1"},
                                   {"height", "1"}})
            agattr(graph_, AGNODE, text(name), text(value));
        for (auto [name, value] : {std::pair{"arrowhead", "none"},
                                   {"minlen", "1"},
                                   {"weight", "1"},
                                   {"constraint", "true"},
                                   {"style", ""}})
            agattr(graph_, AGEDGE, text(name), text(value));
    }

    void add_clusters() {
        for (std::size_t i = 0; i < request_.clusters.size(); ++i) {
            const LayoutCluster& cluster = request_.clusters[i];
            std::string name = "cluster" + std::to_string(i);
            Agraph_t* parent = cluster.parent < 0 ? graph_ : clusters_[cluster.parent];
            Agraph_t* graph = agsubg(parent, name.data(), 1);
            if (cluster.title.width > 0 && cluster.title.height > 0) set_title(graph, cluster.title);
            clusters_.push_back(graph);
        }
    }

    /// Reserves space for a title by an empty table of fixed size, so that no text has to be measured.
    void set_title(Agraph_t* cluster, Size title) {
        std::string table =
            "<TABLE BORDER=\"0\" CELLPADDING=\"0\" CELLSPACING=\"0\" FIXEDSIZE=\"TRUE\" WIDTH=\"" +
            std::to_string(std::lround(title.width)) + "\" HEIGHT=\"" +
            std::to_string(std::lround(title.height)) + "\"><TR><TD></TD></TR></TABLE>";
        char* html = agstrdup_html(graph_, table.data());
        agsafeset(cluster, text("label"), html, text(""));
        agstrfree(graph_, html);
    }

    void add_items() {
        for (std::size_t i = 0; i < request_.items.size(); ++i) {
            const LayoutItem& item = request_.items[i];
            std::string name = std::to_string(i);
            Agraph_t* home = item.cluster < 0 ? graph_ : clusters_[item.cluster];
            Agnode_t* node = agnode(home, name.data(), 1);
            set(node, "width", inches(item.size.width));
            set(node, "height", inches(item.size.height));
            nodes_.push_back(node);
        }
    }

    /// Puts the items of the row at the same height, above all other items (LayoutRow::first) or below them
    /// (LayoutRow::last). For this, an invisible edge joins the row to each item that has no edge and no pair
    /// with an item above it (LayoutRow::first) or below it (LayoutRow::last). Graphviz's own "rank=source"
    /// and "rank=sink" have no effect if "newrank" is set.
    void add_row(LayoutRow row, const char* name) {
        Agraph_t* together = nullptr;
        Agnode_t* outermost = nullptr;
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            if (request_.items[i].row != row) continue;
            if (!together) together = agsubg(graph_, text(name), 1);
            if (!outermost) outermost = nodes_[i];
            agsubnode(together, nodes_[i], 1);
        }
        if (!together) return;
        set(together, "rank", "same");
        const bool first = row == LayoutRow::first;
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            if (request_.items[i].row != LayoutRow::any || held_[i][first ? 0 : 1]) continue;
            Agnode_t *tail = first ? outermost : nodes_[i], *head = first ? nodes_[i] : outermost;
            std::string edge = name + std::to_string(i);
            Agedge_t* made = agedge(graph_, tail, head, edge.data(), 1);
            set(made, "weight", "0");
            set(made, "style", "invis");
        }
    }

    /// Notes that an edge or a pair keeps `head` below `tail`.
    void hold(int tail, int head) {
        const LayoutRow above = request_.items[tail].row, below = request_.items[head].row;
        if (above == LayoutRow::any) held_[head][0] = true;
        if (below == LayoutRow::any) held_[tail][1] = true;
    }

    void add_edges() {
        for (const LayoutEdge& edge : request_.edges) {
            if (edge.from == edge.to) {
                edges_.push_back(nullptr);
                continue;
            }
            int tail = edge.from, head = edge.to;
            if (edge.role == EdgeRole::up) std::swap(tail, head);
            std::string name = std::to_string(edges_.size());
            Agedge_t* made = agedge(graph_, nodes_[tail], nodes_[head], name.data(), 1);
            if (edge.role != EdgeRole::free) hold(tail, head);
            if (edge.role == EdgeRole::rung) set(made, "minlen", "0");
            if (edge.role == EdgeRole::free) set(made, "constraint", "false");
            set(made, "weight", std::to_string(std::lround(std::clamp(edge.weight, 1.0, 100.0))));
            edges_.push_back(made);
        }
    }

    /// Connects the two items of each pair by an invisible edge that acts as a rung (`EdgeRole`).
    void add_pairs() {
        for (const LayoutPair& pair : request_.pairs) {
            if (pair.left == pair.right) continue;
            std::string name = "pair" + std::to_string(pair.left) + "-" + std::to_string(pair.right);
            Agedge_t* made = agedge(graph_, nodes_[pair.left], nodes_[pair.right], name.data(), 1);
            set(made, "minlen", "0");
            set(made, "weight", "8");
            set(made, "style", "invis");
            hold(pair.left, pair.right);
        }
    }

    std::vector<Point> spline(std::size_t i) const {
        std::vector<Point> points;
        if (!edges_[i] || !ED_spl(edges_[i])) return points;
        const splines& all = *ED_spl(edges_[i]);
        for (int k = 0; k < all.size; ++k) {
            const bezier& piece = all.list[k];
            // A piece is joined to the previous piece if it begins where the previous piece ended. Graphviz
            // routes some edges between neighbours of the same rank twice; the last route is used.
            bool goes_on = !points.empty() && piece.size > 0 && points.back() == point(piece.list[0]);
            if (!goes_on) points.clear();
            for (int j = goes_on ? 1 : 0; j < piece.size; ++j) points.push_back(point(piece.list[j]));
        }
        if (points.size() % 3 != 1) return {};
        Agnode_t* from = nodes_[request_.edges[i].from];
        if (distance(points.front(), from) > distance(points.back(), from))
            std::reverse(points.begin(), points.end());
        return points;
    }

    /// Says whether most pairs and most edges of the roles `rung` and `free` lead from right to left, so that
    /// the drawing must be mirrored. `dot` can exchange left and right if there are frames.
    bool stands_the_wrong_way() const {
        int exchanged = 0;
        auto count = [&](int left, int right) {
            double step = ND_coord(nodes_[right]).x - ND_coord(nodes_[left]).x;
            exchanged += step < 0 ? 1 : step > 0 ? -1 : 0;
        };
        for (const LayoutPair& pair : request_.pairs) count(pair.left, pair.right);
        for (const LayoutEdge& edge : request_.edges)
            if (edge.role == EdgeRole::rung || edge.role == EdgeRole::free) count(edge.from, edge.to);
        return exchanged > 0;
    }

    double distance(Point p, Agnode_t* node) const {
        Point center = point(ND_coord(node));
        return std::hypot(std::max(0.0, std::abs(p.x - center.x) - ND_width(node) * kPointsPerInch / 2),
                          std::max(0.0, std::abs(p.y - center.y) - ND_height(node) * kPointsPerInch / 2));
    }

    static double rounded(double x) { return std::round(x * 100) / 100; }
    Point point(pointf p) const {
        return {rounded(mirrored_ ? right_ - p.x : p.x - left_), rounded(top_ - p.y)};
    }

    const LayoutRequest& request_;
    GVC_t* context_;
    Agraph_t* graph_ = nullptr;
    bool laid_out_ = false;
    double top_ = 0, left_ = 0, right_ = 0;
    bool mirrored_ = false;
    std::vector<Agraph_t*> clusters_;
    std::vector<Agnode_t*> nodes_;
    std::vector<std::array<bool, 2>> held_;  // for each item: whether an edge or a pair joins it to an item
                                             // above, and to an item below
    std::vector<Agedge_t*> edges_;           // null for an edge from an item to itself
};

}  // namespace

Result<Layout> layout_by_dot(const LayoutRequest& request) {
    if (request.items.empty()) return Layout{};
    DotGraph graph(request);
    if (!graph.lay_out()) return Error{"layout: Graphviz cannot lay out this graph"};
    return graph.result();
}

void load_dot() {
    LayoutRequest smallest;
    smallest.items.assign(2, {{1, 1}});
    smallest.edges = {{0, 1}};
    (void)layout_by_dot(smallest);
}

}  // namespace rematlas
