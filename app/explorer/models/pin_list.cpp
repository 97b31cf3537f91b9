#include "app/explorer/models/pin_list.h"

#include <algorithm>
#include <cctype>

#include "app/explorer/words/wording.h"
#include "core/pins/pinned_ops.h"

namespace rematlas::explorer {
namespace {

std::string pattern_of_op(const LoadedGraph& graph, OpId op) {
    const std::string number = "#" + std::to_string(op.value);
    if (graph.graph.ops[op].outputs.size() != 1) return number;
    const std::string& name = graph.graph.tensors[graph.graph.ops[op].outputs.front()].name;
    if (name.empty() || name.find_first_of("*#") != std::string::npos) return number;
    const Result<std::vector<OpId>> ops = ops_of_pin(graph.graph, {name, PinKind::keep});
    return ops && ops->size() == 1 ? name : number;
}

std::string pattern_of_block(const LoadedGraph& graph, BlockId id) {
    const Block& block = graph.graph.blocks[id];
    const bool backward = graph.facts[id].phase != Phase::forward && block.twin.valid();
    const std::string& path = backward ? graph.graph.blocks[block.twin].path : block.path;
    return ops_of_pin(graph.graph, {path, PinKind::keep}) ? path : std::string();
}

}  // namespace

void PinList::set(const Pin& pin) {
    Pins pins = pins_;
    const auto same =
        std::find_if(pins.begin(), pins.end(), [&](const Pin& p) { return p.pattern == pin.pattern; });
    if (same == pins.end())
        pins.push_back(pin);
    else
        *same = pin;
    replace(std::move(pins));
}

void PinList::remove(const std::string& pattern) {
    Pins pins = pins_;
    std::erase_if(pins, [&](const Pin& pin) { return pin.pattern == pattern; });
    replace(std::move(pins));
}

void PinList::remove_row(int row) {
    if (row >= 0 && row < rowCount()) remove(std::string(pins_[static_cast<std::size_t>(row)].pattern));
}

void PinList::replace(Pins pins) {
    if (pins != pins_) take(std::move(pins), {});
}

void PinList::follow_plan(const QString& name, const Pins& pins) {
    if (!pins_.empty() && of_plan_.isEmpty()) return;
    const QString plan = pins.empty() ? QString() : name;
    if (pins != pins_ || plan != of_plan_) take(pins, plan);
}

void PinList::set_graph(GraphPtr graph) {
    graph_ = std::move(graph);
    take({}, {});
}

void PinList::take(Pins pins, const QString& of_plan) {
    beginResetModel();
    pins_ = std::move(pins);
    of_plan_ = of_plan;
    idle_.clear();
    remarks_.clear();
    if (const Result<PinnedOps> found = graph_ ? pinned_ops(graph_->graph, pins_) : PinnedOps(); found) {
        for (const IdlePin& idle : found->idle) {
            idle_.push_back(idle.pin);
            remarks_ << text(idle.why);
        }
    } else {
        remarks_ << text(found.error().message);
    }
    endResetModel();
    emit changed();
}

std::optional<PinKind> PinList::decision(const std::string& pattern) const {
    for (const Pin& pin : pins_)
        if (pin.pattern == pattern) return pin.kind;
    return std::nullopt;
}

int PinList::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(pins_.size());
}

QVariant PinList::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || role != Qt::DisplayRole) return {};
    const Pin& pin = pins_[static_cast<std::size_t>(index.row())];
    const QString pattern = text(pin.pattern);
    const bool idle =
        std::find(idle_.begin(), idle_.end(), static_cast<std::size_t>(index.row())) != idle_.end();
    const QString line =
        pin.kind == PinKind::keep ? tr("keep %1").arg(pattern) : tr("recompute %1").arg(pattern);
    return idle ? tr("%1 (does nothing)").arg(line) : line;
}

std::string pattern_of(const LoadedGraph& graph, const Selected& selected) {
    if (graph.graph.ops.contains(selected.op)) return pattern_of_op(graph, selected.op);
    if (graph.graph.blocks.contains(selected.block)) return pattern_of_block(graph, selected.block);
    return {};
}

std::string pattern_of_all_like(const LoadedGraph& graph, const Selected& selected) {
    const std::string one = pattern_of(graph, selected);
    if (one.empty() || one.front() == '#') return {};
    std::string all;
    for (std::size_t at = 0; at <= one.size();) {
        const std::size_t end = std::min(one.find('.', at), one.size());
        const std::string part = one.substr(at, end - at);
        const bool number = !part.empty() && std::all_of(part.begin(), part.end(), [](unsigned char c) {
            return std::isdigit(c) != 0;
        });
        all += (at > 0 ? "." : "") + (number ? "*" : part);
        at = end + 1;
    }
    const Result<std::vector<OpId>> few = ops_of_pin(graph.graph, {one, PinKind::keep});
    const Result<std::vector<OpId>> more = ops_of_pin(graph.graph, {all, PinKind::keep});
    return few && more && more->size() > few->size() ? all : std::string();
}

}  // namespace rematlas::explorer
