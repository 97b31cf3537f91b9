#include "core/bounds/lineage.h"

#include <bit>

namespace rematlas {

Lineage::Lineage(const FlatGraph& graph)
    : graph_(&graph),
      words_((static_cast<std::size_t>(graph.op_count) + 63) / 64),
      before_(words_ * graph.op_count),
      after_(words_ * graph.op_count) {
    const auto add = [&](std::vector<Word>& sets, int to, int from) {
        for (std::size_t w = 0; w < words_; ++w) sets[to * words_ + w] |= sets[from * words_ + w];
    };
    const auto add_itself = [&](std::vector<Word>& sets, int op) {
        sets[op * words_ + op / 64] |= Word{1} << (op % 64);
    };
    for (int op = 0; op < graph.op_count; ++op) {
        add_itself(before_, op);
        for (int t : graph.inputs[op]) add(before_, op, graph.producer[t]);
    }
    for (int op = graph.op_count; op-- > 0;) {
        if (!graph.required[op]) continue;
        add_itself(after_, op);
        for (int t : graph.inputs[op]) add(after_, graph.producer[t], op);
    }
}

template <class Visit>
void Lineage::visit(std::span<const Word> ops, const Visit& visit_op) {
    for (std::size_t w = 0; w < ops.size(); ++w) {
        for (Word left = ops[w]; left != 0; left &= left - 1)
            visit_op(w * 64 + static_cast<std::size_t>(std::countr_zero(left)));
    }
}

std::int64_t Lineage::time_until(int op, std::span<const std::uint8_t> counted) const {
    std::int64_t time = 0;
    visit(of(before_, op), [&](std::size_t before) { time += counted[before] ? graph_->time[before] : 0; });
    return time;
}

std::int64_t Lineage::time_from(std::span<const int> ops) const {
    std::vector<Word> all(words_);
    for (int op : ops) {
        const std::span<const Word> after = of(after_, op);
        for (std::size_t w = 0; w < words_; ++w) all[w] |= after[w];
    }
    std::int64_t time = 0;
    visit(all, [&](std::size_t op) { time += graph_->time[op]; });
    return time;
}

}  // namespace rematlas
