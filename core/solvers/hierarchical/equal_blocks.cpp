#include "core/solvers/hierarchical/equal_blocks.h"

#include <algorithm>
#include <cmath>

namespace rematlas::hierarchical {

namespace {

void append(std::string& text, std::int64_t number) {
    text.append(reinterpret_cast<const char*>(&number), sizeof number);
}

template <class Numbers>
void append_list(std::string& text, const Numbers& numbers) {
    append(text, static_cast<std::int64_t>(numbers.size()));
    for (const auto number : numbers) append(text, number);
}

}  // namespace

std::string structure_of(const Subproblem& block) {
    const FlatGraph& flat = block.flat;
    std::string text;
    append(text, block.outside);
    for (int op = 0; op < flat.op_count; ++op) {
        append(text, flat.workspace[op]);
        append(text, flat.required[op] + 2 * flat.recomputable[op]);
        append_list(text, flat.inputs[op]);
        append_list(text, flat.outputs[op]);
        std::vector<std::int32_t> given(block.given_inputs[op].begin(), block.given_inputs[op].end());
        for (std::int32_t& t : given)
            t = static_cast<std::int32_t>(std::lower_bound(block.given.begin(), block.given.end(), t) -
                                          block.given.begin());
        append_list(text, given);
        for (const FlatGraph::Pair& pair : flat.inplace_pairs(op)) {
            append(text, -1 - pair.out);
            append(text, pair.in);
        }
    }
    append_list(text, flat.bytes);
    append_list(text, flat.results);
    append_list(text, block.passed_on);
    return text;
}

int EqualBlocks::class_of(const Subproblem& block) {
    const std::vector<std::int64_t>& times = block.flat.time;
    std::vector<Member>& members = members_[structure_of(block)];
    for (const Member& member : members) {
        double apart = 0, all = 1;
        for (std::size_t i = 0; i < times.size(); ++i) {
            apart += std::abs(static_cast<double>(times[i] - member.times[i]));
            all += static_cast<double>(times[i]);
        }
        if (apart <= tolerance_ * all) return member.number;
    }
    members.push_back({size_, times});
    return size_++;
}

}  // namespace rematlas::hierarchical
