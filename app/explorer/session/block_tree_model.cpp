#include "app/explorer/session/block_tree_model.h"

#include <QLocale>
#include <algorithm>
#include <functional>

#include "app/explorer/session/wording.h"

namespace rematlas::explorer {

BlockTreeModel::BlockTreeModel(QObject* parent) : QAbstractItemModel(parent), nodes_(1) {}

void BlockTreeModel::set_graph(GraphPtr graph) {
    beginResetModel();
    graph_ = std::move(graph);
    schedule_.reset();
    shares_ = {};
    decisions_ = {};
    nodes_.assign(1, {});
    node_of_block_ = {};
    node_of_op_ = {};
    if (graph_) {
        node_of_block_.resize(graph_->graph.blocks.size());
        node_of_op_.resize(graph_->graph.ops.size());
        nodes_.reserve(1 + graph_->graph.blocks.size() + graph_->graph.ops.size());
        add_children(0);
    }
    endResetModel();
}

void BlockTreeModel::add_children(int parent) {
    // Blocks and own ops of a block interleave: a residual add runs between two child blocks.
    const BlockId block = nodes_[parent].block;
    const std::vector<BlockId>& blocks = block.valid() ? graph_->graph.blocks[block].children : graph_->roots;
    std::vector<Node> children;
    for (BlockId child : blocks) children.push_back({.parent = parent, .block = child});
    if (block.valid()) {
        for (OpId op : graph_->graph.blocks[block].ops) {
            children.push_back({.parent = parent, .block = block, .op = op});
        }
    }
    const auto first = [&](const Node& n) { return n.op.valid() ? n.op : graph_->facts[n.block].first; };
    std::stable_sort(children.begin(), children.end(),
                     [&](const Node& a, const Node& b) { return first(a) < first(b); });
    for (std::size_t i = 0; i < children.size(); ++i) {
        const int at = static_cast<int>(nodes_.size());
        children[i].row = static_cast<int>(i);
        nodes_.push_back(children[i]);
        nodes_[parent].children.push_back(at);
        if (children[i].op.valid()) {
            node_of_op_[children[i].op] = at;
        } else {
            node_of_block_[children[i].block] = at;
            add_children(at);
        }
    }
}

void BlockTreeModel::set_schedule(SchedulePtr schedule) {
    if (schedule && schedule->graph != graph_) schedule.reset();
    schedule_ = std::move(schedule);
    derive_shares();
    const std::function<void(const QModelIndex&)> announce = [&](const QModelIndex& parent) {
        const int rows = rowCount(parent);
        if (rows == 0) return;
        emit dataChanged(index(0, 0, parent), index(rows - 1, column_count - 1, parent));
        for (int row = 0; row < rows; ++row) announce(index(row, 0, parent));
    };
    announce({});
}

void BlockTreeModel::derive_shares() {
    shares_ = {};
    decisions_ = {};
    if (!schedule_) return;
    for (BlockId block : graph_->graph.blocks.ids()) {
        shares_.push_back(recomputed_share(*schedule_, block));
        decisions_.push_back(block_decision(*schedule_, block));
    }
}

Selected BlockTreeModel::selected_at(const QModelIndex& index) const {
    if (!index.isValid()) return {};
    const Node& node = node_at(index);
    return node.op.valid() ? Selected::of(node.op) : Selected::of(node.block);
}

QModelIndex BlockTreeModel::index_of(const Selected& selected) const {
    if (node_of_op_.contains(selected.op)) return index_of_node(node_of_op_[selected.op]);
    if (node_of_block_.contains(selected.block)) return index_of_node(node_of_block_[selected.block]);
    return {};
}

const BlockTreeModel::Node& BlockTreeModel::node_at(const QModelIndex& index) const {
    return nodes_[index.isValid() ? index.internalId() : 0];
}

QModelIndex BlockTreeModel::index_of_node(int node, int column) const {
    if (node <= 0) return {};
    return createIndex(nodes_[node].row, column, static_cast<quintptr>(node));
}

QModelIndex BlockTreeModel::index(int row, int column, const QModelIndex& parent) const {
    if (!hasIndex(row, column, parent)) return {};
    return index_of_node(node_at(parent).children[row], column);
}

QModelIndex BlockTreeModel::parent(const QModelIndex& child) const {
    return child.isValid() ? index_of_node(node_at(child).parent) : QModelIndex();
}

int BlockTreeModel::rowCount(const QModelIndex& parent) const {
    return parent.column() > 0 ? 0 : static_cast<int>(node_at(parent).children.size());
}

int BlockTreeModel::columnCount(const QModelIndex&) const {
    return column_count;
}

QVariant BlockTreeModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid()) return {};
    const Node& node = node_at(index);
    const bool is_op = node.op.valid();
    switch (role) {
        case Qt::DisplayRole:
            return display(node, index.column());
        case Qt::ToolTipRole:
            return tool_tip(node);
        case Qt::TextAlignmentRole:
            return index.column() >= ops ? QVariant(Qt::AlignRight | Qt::AlignVCenter) : QVariant();
        case sort_role:
            return sort_key(node, index.column());
        case search_role:
            return is_op ? text(graph_->graph.ops[node.op].name + " " + graph_->graph.ops[node.op].module)
                         : text(graph_->graph.blocks[node.block].path + " " +
                                graph_->graph.blocks[node.block].name);
        case decision_role:
            if (!schedule_) return -1;
            return static_cast<int>(is_op ? schedule_->ops[node.op] : decisions_[node.block]);
        case phase_role:
            return static_cast<int>(is_op ? graph_->graph.ops[node.op].phase
                                          : graph_->facts[node.block].phase);
        default:
            return {};
    }
}

QVariant BlockTreeModel::display(const Node& node, int column) const {
    const Graph& graph = graph_->graph;
    if (node.op.valid()) {
        const Op& op = graph.ops[node.op];
        switch (column) {
            case name:
                return short_op_name(op);
            case kind:
                return tr("op");
            case ops:
                return {};
            case made:
                return bytes_text(bytes_made(graph, node.op));
            case time:
                return time_text(op.time);
            case repeats:
                return {};
            case recomputed:
                if (!schedule_ || schedule_->decisions.runs[node.op] < 2) return {};
                return tr("%1 runs").arg(schedule_->decisions.runs[node.op]);
            default:
                return {};
        }
    }
    const BlockFacts& facts = graph_->facts[node.block];
    switch (column) {
        case name:
            return block_name(*graph_, node.block);
        case kind:
            return text(to_string(facts.phase));
        case ops:
            return QLocale::c().toString(facts.ops);
        case made:
            return bytes_text(facts.made);
        case time:
            return time_text(facts.time);
        case repeats:
            return facts.repeats > 1 ? tr("%1 equal").arg(facts.repeats) : QVariant();
        case recomputed:
            if (!schedule_ || shares_[node.block] <= 0) return {};
            return percent_text(shares_[node.block]);
        default:
            return {};
    }
}

QVariant BlockTreeModel::sort_key(const Node& node, int column) const {
    const Graph& graph = graph_->graph;
    const bool is_op = node.op.valid();
    const Op* op = is_op ? &graph.ops[node.op] : nullptr;
    const BlockFacts& facts = graph_->facts[node.block];
    switch (column) {
        case ops:
            return is_op ? 1 : facts.ops;
        case made:
            return static_cast<qlonglong>((is_op ? bytes_made(graph, node.op) : facts.made).value);
        case time:
            return static_cast<qlonglong>((is_op ? op->time : facts.time).value);
        case repeats:
            return is_op ? 1 : facts.repeats;
        case recomputed:
            if (!schedule_) return 0.0;
            return is_op ? std::max(0, schedule_->decisions.runs[node.op] - 1) * 1.0 : shares_[node.block];
        default:
            return display(node, column);
    }
}

QString BlockTreeModel::tool_tip(const Node& node) const {
    const Graph& graph = graph_->graph;
    if (node.op.valid()) {
        const Op& op = graph.ops[node.op];
        return tr("%1\nop %2 of %3, %4\nmodule %5")
            .arg(text(op.name))
            .arg(node.op.value)
            .arg(graph.ops.size())
            .arg(text(to_string(op.phase)), op.module.empty() ? tr("(root)") : text(op.module));
    }
    return tr("%1\n%2 ops").arg(text(graph.blocks[node.block].path)).arg(graph_->facts[node.block].ops);
}

QVariant BlockTreeModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal) return {};
    if (role == Qt::TextAlignmentRole) {
        return section >= ops ? QVariant(Qt::AlignRight | Qt::AlignVCenter)
                              : QVariant(Qt::AlignLeft | Qt::AlignVCenter);
    }
    if (role == Qt::ToolTipRole) {
        static const char* const tips[] = {"Module or block, in execution order",
                                           "Phase of the step",
                                           "ATen operations inside",
                                           "Bytes of all outputs, each op run once",
                                           "Time of each op run once",
                                           "Blocks with equal structure",
                                           "Time spent on recomputing, over the block's own time"};
        return tr(tips[section]);
    }
    if (role != Qt::DisplayRole) return {};
    static const char* const titles[] = {"Block", "Kind", "Ops", "Made", "Time", "Repeats", "Recomputed"};
    return tr(titles[section]);
}

}  // namespace rematlas::explorer
