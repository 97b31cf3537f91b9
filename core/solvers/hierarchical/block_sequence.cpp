#include "core/solvers/hierarchical/block_sequence.h"

#include <algorithm>

namespace rematlas::hierarchical {

namespace {

/// Returns, by op of the whole graph, the stage of the op, or -1 if the op need not run.
std::vector<int> stages_of(const FlatGraph& flat, const TrainingTree& tree) {
    std::vector<int> stage(flat.op_count, -1);
    const auto& children = tree.blocks.front().children;
    for (std::size_t i = 0; i < children.size(); ++i) {
        const TrainingBlock& block = tree.blocks[children[i]];
        for (int at = block.begin; at < block.end; ++at) stage[tree.forward[at]] = static_cast<int>(i);
        for (const int op : block.backward) stage[op] = static_cast<int>(i);
    }
    return stage;
}

std::vector<std::uint8_t> forward_ops(const FlatGraph& flat, const TrainingTree& tree) {
    std::vector<std::uint8_t> forward(flat.op_count, 0);
    for (const int op : tree.forward) forward[op] = 1;
    return forward;
}

/// Bytes of gradients, by stage. The group of a stage is its backward ops. A result of the step stays until
/// the end of the step. It is counted once, in the group that makes it.
struct Gradients {
    explicit Gradients(std::size_t stages)
        : left(stages, 0), received(stages, 0), passing(stages, 0), received_left(stages, 0) {}
    std::vector<std::int64_t> left;           ///< results of the step that this group makes
    std::vector<std::int64_t> received;       ///< made by groups of later stages, read by this group
    std::vector<std::int64_t> passing;        ///< made by groups of later stages, read only by groups of
                                              ///< earlier stages
    std::vector<std::int64_t> received_left;  ///< results of the step that groups of later stages make and
                                              ///< this group reads
};

Gradients gradients_of(const FlatGraph& flat, const TrainingTree& tree) {
    const std::vector<int> stage = stages_of(flat, tree);
    const std::vector<std::uint8_t> forward = forward_ops(flat, tree);
    Gradients gradients(tree.blocks.front().children.size());
    for (int t = 0; t < flat.tensor_count; ++t) {
        const int maker = flat.producer[t];
        if (maker < 0 || forward[maker] || stage[maker] < 0) continue;
        std::vector<std::uint8_t> reads(static_cast<std::size_t>(stage[maker]) + 1, 0);
        int last = stage[maker];
        for (const int user : flat.users[t]) {
            if (stage[user] < 0) continue;
            reads[stage[user]] = 1;
            last = std::min(last, stage[user]);
        }
        const bool stays = flat.is_result[t];
        if (stays) gradients.left[stage[maker]] += flat.bytes[t];
        for (int i = stage[maker] - 1; i >= last; --i) {
            if (stays && reads[i]) gradients.received_left[i] += flat.bytes[t];
            if (!stays) (reads[i] ? gradients.received : gradients.passing)[i] += flat.bytes[t];
        }
    }
    return gradients;
}

/// Turns a block into a stage of Rotor's chain, and each option of the block into a way to run the stage.
class StageWriter {
  public:
    StageWriter(const Subproblem& block, const BlockOptions& options, std::int64_t beside, bool is_last)
        : block_(block),
          options_(options),
          beside_backward_(beside),
          is_last_(is_last),
          passed_on_(block.flat.tensor_count, 0) {
        for (const int t : block.passed_on) passed_on_[t] = 1;
        beside_ = without_bytes(block.flat, passed_on_);
    }

    RotorStage stage(std::int64_t input) const {
        RotorStage stage;
        stage.advance = whole(options_.advance.forward);
        stage.advance_time = options_.advance.forward_time;
        stage.advance_peak = options_.advance.forward_peak;
        stage.advance_peak_with_input = stage.advance_peak + input;
        for (const int t : block_.passed_on) stage.boundary += block_.flat.bytes[t];
        for (const BlockOption& option : options_.options) stage.ways.push_back(way(option, stage.boundary));
        return stage;
    }

  private:
    RotorWay way(const BlockOption& option, std::int64_t boundary) const {
        RotorWay way;
        way.save = whole(option.forward);
        way.save_time = option.forward_time;
        way.save_peak = option.forward_peak;
        way.backward = whole(option.backward);
        way.backward_time = option.backward_time;
        way.backward_peak = beside_backward_ + option.backward_peak;
        way.saved = option.saved + boundary;
        const RunSequence last = what_is_read(option, true);
        way.save_last = whole(last);
        way.save_last_time = time_of(last);
        const RunSequence beside = what_is_read(option, false);
        way.save_beside = whole(beside);
        way.save_beside_time = time_of(beside);
        way.save_beside_peak = peak_beside(beside, option);
        return way;
    }

    /// Returns the forward runs that make the tensors that the second part reads. If `passed_on` is false,
    /// the passed-on tensors exist already, so the runs need not make them.
    RunSequence what_is_read(const BlockOption& option, bool passed_on) const {
        const FlatGraph& flat = block_.flat;
        if (block_.outside < 0) return is_last_ ? option.forward : RunSequence{};
        std::vector<std::uint8_t> made(flat.tensor_count, 0), wanted(flat.tensor_count, 0);
        const std::vector<std::uint8_t> there =
            passed_on ? std::vector<std::uint8_t>(flat.tensor_count, 0) : passed_on_;
        for (const int op : option.backward) {
            for (const int t : flat.inputs[op]) wanted[t] |= !made[t] && !there[t];
            for (const int t : flat.outputs[op]) made[t] = 1;
        }
        for (const int t : option.held) wanted[t] = !there[t];
        RunSequence runs;
        for (std::size_t i = option.forward.size(); i-- > 0;) {
            const int op = option.forward[i];
            const auto outputs = flat.outputs[op];
            if (!runs_for_its_effect(block_, op) &&
                std::none_of(outputs.begin(), outputs.end(), [&](int t) { return wanted[t]; }))
                continue;
            for (const int t : outputs) wanted[t] = 0;
            for (const int t : flat.inputs[op]) wanted[t] = !there[t];
            runs.push_back(op);
        }
        std::reverse(runs.begin(), runs.end());
        return runs;
    }

    std::int64_t peak_beside(const RunSequence& forward, const BlockOption& option) const {
        RunSequence runs = forward;
        if (block_.outside >= 0) runs.push_back(block_.outside);
        runs.insert(runs.end(), option.backward.begin(), option.backward.end());
        const std::vector<std::int64_t> memory = memory_of(beside_, runs);
        std::int64_t peak = 0;
        for (std::size_t i = 0; i < forward.size(); ++i) peak = std::max(peak, memory[i]);
        return peak;
    }

    std::int64_t time_of(const RunSequence& runs) const {
        std::int64_t time = 0;
        for (const int op : runs) time += block_.flat.time[op];
        return time;
    }

    RunSequence whole(const RunSequence& runs) const {
        RunSequence ops;
        for (const int op : runs) ops.push_back(block_.op_of[op]);
        return ops;
    }

    const Subproblem& block_;
    const BlockOptions& options_;
    const std::int64_t beside_backward_;   ///< bytes added to the backward peak of every option
    const bool is_last_;                   ///< whether the block is the last of the sequence
    std::vector<std::uint8_t> passed_on_;  ///< by tensor of the block: whether the block passes it on
    FlatGraph beside_;                     ///< the block's graph, in which passed-on tensors take no bytes
};

}  // namespace

std::vector<std::uint8_t> always_there(const FlatGraph& flat, const TrainingTree& tree) {
    const std::vector<int> stage = stages_of(flat, tree);
    std::vector<std::uint8_t> always(flat.tensor_count, 0);
    for (const int op : tree.forward) {
        for (const int t : flat.outputs[op]) {
            const auto users = flat.users[t];
            always[t] =
                flat.is_result[t] || !flat.recomputable[op] ||
                std::any_of(users.begin(), users.end(), [&](int user) {
                    return stage[user] >= 0 && stage[user] != stage[op] && stage[user] != stage[op] + 1;
                });
        }
    }
    return always;
}

RotorChain chain_of(const FlatGraph& flat, const BlockTable& table) {
    const auto& children = table.tree().blocks.front().children;
    const Gradients gradients = gradients_of(table.flat(), table.tree());
    RotorChain chain;
    chain.always = flat.resident_bytes;
    for (int t = 0; t < flat.tensor_count; ++t) chain.always += flat.bytes[t] - table.flat().bytes[t];
    for (std::size_t i = 0; i < children.size(); ++i) {
        const std::int64_t input = i == 0 ? 0 : chain.stages.back().boundary;
        const StageWriter writer(table.part(children[i]), table.options_of(children[i]),
                                 gradients.passing[i] - gradients.received_left[i], i + 1 == children.size());
        chain.stages.push_back(writer.stage(input));
        chain.stages.back().gradients = gradients.passing[i] + gradients.received[i];
        chain.stages.back().left = gradients.left[i];
    }
    return chain;
}

}  // namespace rematlas::hierarchical
