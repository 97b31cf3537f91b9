#include "app/explorer/models/block_tree_model.h"

#include <QLocale>
#include <algorithm>

#include "app/explorer/models/csv_table.h"
#include "app/explorer/words/wording.h"
#include "viz/block_view/block_view.h"

namespace rematlas::explorer {
namespace {

bool is_number(int column) {
    return column != BlockTreeModel::name && column != BlockTreeModel::fate && column != BlockTreeModel::kind;
}

/// Returns, for example, "62.0 %" if 62 % of the bytes that a block's ops make are kept. Returns nothing if
/// no bytes are made.
QVariant fate_text(const DecisionShares& made) {
    if (made.total().value <= 0) return {};
    return percent_text(static_cast<double>(made.kept.value) / static_cast<double>(made.total().value));
}

}  // namespace

BlockTreeModel::BlockTreeModel(QObject* parent) : QAbstractItemModel(parent), nodes_(1) {}

void BlockTreeModel::set_graph(GraphPtr graph) {
    beginResetModel();
    graph_ = std::move(graph);
    schedule_.reset();
    sums_ = {};
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
    // Child blocks and own ops of a block can alternate in execution order. For example, a residual add runs
    // between two child blocks.
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
    sums_ = schedule_ ? block_sums(*schedule_, range_) : BlockSums();
    // One signal for the top rows is enough, because views then repaint all visible rows. A signal for each
    // of ten thousand parents would block the window.
    const int rows = rowCount();
    if (rows > 0) emit dataChanged(index(0, 0), index(rows - 1, column_count - 1));
}

void BlockTreeModel::set_range(const StepRange& range) {
    if (range == range_) return;
    range_ = range;
    set_schedule(schedule_);
}

const BlockSum& BlockTreeModel::sum_of(const Node& node) const {
    return node.op.valid() ? sums_.ops[node.op] : sums_.blocks[node.block];
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
            return is_number(index.column()) ? QVariant(Qt::AlignRight | Qt::AlignVCenter) : QVariant();
        case sort_role:
            return sort_key(node, index.column());
        case search_role:
            return is_op ? text(graph_->graph.ops[node.op].name + " " + graph_->graph.ops[node.op].module)
                         : text(graph_->graph.blocks[node.block].path + " " +
                                graph_->graph.blocks[node.block].name);
        case decision_role:
            if (!schedule_) return -1;
            return static_cast<int>(is_op ? schedule_->ops[node.op] : sum_of(node).made.largest());
        case phase_role:
            return static_cast<int>(is_op ? graph_->graph.ops[node.op].phase
                                          : graph_->facts[node.block].phase);
        case share_role:
            if (!schedule_ || sums_.peak.value <= 0) return -1.0;
            return static_cast<double>(sum_of(node).at_peak.value) / static_cast<double>(sums_.peak.value);
        case fate_role: {
            if (!schedule_) return {};
            const DecisionShares& made = sum_of(node).made;
            return QVariantList{static_cast<qlonglong>(made.kept.value),
                                static_cast<qlonglong>(made.recomputed.value),
                                static_cast<qlonglong>(made.offloaded.value)};
        }
        default:
            return {};
    }
}

QVariant BlockTreeModel::display(const Node& node, int column) const {
    const Graph& graph = graph_->graph;
    const bool is_op = node.op.valid();
    switch (column) {
        case name:
            return is_op ? short_op_name(graph.ops[node.op]) : block_name(*graph_, node.block);
        case peak:
            return schedule_ && sum_of(node).at_peak.value > 0 ? bytes_text(sum_of(node).at_peak)
                                                               : QVariant();
        case fate:
            return schedule_ ? fate_text(sum_of(node).made) : QVariant();
        case extra:
            if (!schedule_ || sum_of(node).reruns == 0) return {};
            return QStringLiteral("+") + time_text(sum_of(node).extra);
        case time:
            return time_text(is_op ? graph.ops[node.op].time : graph_->facts[node.block].time);
        case ops:
            return is_op ? QVariant() : QLocale::c().toString(graph_->facts[node.block].ops);
        case made:
            return bytes_text(is_op ? bytes_made(graph, node.op) : graph_->facts[node.block].made);
        case repeats:
            return !is_op && graph_->facts[node.block].repeats > 1
                       ? tr("%1 equal").arg(graph_->facts[node.block].repeats)
                       : QVariant();
        case kind:
            return is_op ? tr("op") : phase_text(graph_->facts[node.block].phase);
        default:
            return {};
    }
}

QVariant BlockTreeModel::sort_key(const Node& node, int column) const {
    const bool is_op = node.op.valid();
    switch (column) {
        case peak:
            return static_cast<qlonglong>(schedule_ ? sum_of(node).at_peak.value : 0);
        case fate:
            return static_cast<qlonglong>(
                schedule_ ? (sum_of(node).made.recomputed + sum_of(node).made.offloaded).value : 0);
        case extra:
            return static_cast<qlonglong>(schedule_ ? sum_of(node).extra.value : 0);
        case time:
            return static_cast<qlonglong>(
                (is_op ? graph_->graph.ops[node.op].time : graph_->facts[node.block].time).value);
        case ops:
            return is_op ? 1 : graph_->facts[node.block].ops;
        case made:
            return static_cast<qlonglong>(
                (is_op ? bytes_made(graph_->graph, node.op) : graph_->facts[node.block].made).value);
        case repeats:
            return is_op ? 1 : graph_->facts[node.block].repeats;
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
            .arg(phase_text(op.phase), op.module.empty() ? tr("(root)") : text(op.module));
    }
    return tr("%1\n%2 ops").arg(text(graph.blocks[node.block].path)).arg(graph_->facts[node.block].ops);
}

QVariant BlockTreeModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal) return {};
    const std::pair<QString, QString> headers[] = {
        {tr("Block"), tr("Module or block, in execution order")},
        {tr("At the peak"), tr("Bytes of what it made that are held at the peak, and their share of all")},
        {tr("Kept"), tr("How much of what it makes is kept, recomputed and offloaded")},
        {tr("Extra time"), tr("Spent on computing again")},
        {tr("Time"), tr("Of each op run once")},
        {tr("Ops"), tr("ATen operations inside")},
        {tr("Made"), tr("Bytes of all outputs, each op run once")},
        {tr("Repeats"), tr("Blocks with equal structure")},
        {tr("Kind"), tr("Phase of the step")},
    };
    if (role == Qt::TextAlignmentRole)
        return int(Qt::AlignVCenter) | (is_number(section) ? Qt::AlignRight : Qt::AlignLeft);
    if (role == Qt::ToolTipRole) return headers[section].second;
    if (role == Qt::DisplayRole) return headers[section].first;
    if (role == unit_role && (section == peak || section == made)) return "bytes";
    if (role == unit_role && (section == extra || section == time)) return "ns";
    return {};
}

}  // namespace rematlas::explorer
