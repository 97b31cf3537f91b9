#include "runtime/capture/build_graph.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/dispatch/collectives.h"

namespace rematlas {
namespace {

bool is_resident(const RecordedValue& value) {
    return value.producer < 0;
}

bool is_persistent(TensorKind kind) {
    return kind == TensorKind::parameter || kind == TensorKind::buffer;
}

/// Builds the graph and the tape from a copy of the recording; see `build_graph`.
class Builder {
  public:
    Builder(const Recording& recording, const std::function<std::int64_t(std::int64_t)>& footprint)
        : recording_(recording), footprint_(footprint) {
        unite_constants();
        find_writers();
        find_needed();
        number_densely();
        find_handed_out();
        find_what_leads_to_loss();
    }

    CapturedStep build() {
        for (std::size_t v = 0; v < recording_.values.size(); ++v)
            if (tensor_of_[v].valid()) add_tensor(v);
        for (const Operand& operand : recording_.operands) add_operand(operand);
        for (std::size_t i = 0; i < recording_.ops.size(); ++i)
            if (needed_[i]) add_op(recording_.ops[i]);
        add_ends();
        step_.graph.module_classes = recording_.module_classes;
        return std::move(step_);
    }

  private:
    int value_of(int operand) const { return recording_.operands[operand].tensor.value; }

    /// Visits the values whose contents the op reads or writes.
    template <class Visit>
    void for_each_value(const TapeOp& op, Visit&& visit) const {
        for (const Argument& argument : op.arguments)
            for (int operand : argument.operands)
                if (operand != no_operand && value_of(operand) >= 0) visit(value_of(operand));
    }

    /// Merges constants with equal contents into one tensor. In a step with collectives, short constants are
    /// not merged, because the graphs of all ranks must be equal: two numbers (for example, the index of a
    /// rank's first row and a size) can be equal on one rank and differ on another.
    void unite_constants() {
        constexpr std::int64_t is_short = 64;  // bytes
        const bool with_others =
            std::any_of(recording_.ops.begin(), recording_.ops.end(),
                        [](const RecordedOp& op) { return is_collective(op.tape.name); });
        std::map<std::string, int> first;
        std::vector<int> united(recording_.values.size());
        std::set<int> written;
        for (const RecordedOp& op : recording_.ops)
            for (const Overwrite& overwrite : op.tape.overwrites) written.insert(overwrite.before.value);
        for (std::size_t v = 0; v < united.size(); ++v) {
            united[v] = static_cast<int>(v);
            const RecordedValue& value = recording_.values[v];
            if (value.kind == TensorKind::constant && !written.contains(united[v]) &&
                !(with_others && value.bytes <= is_short))
                united[v] = first.try_emplace(value.contents, united[v]).first->second;
        }
        for (Operand& operand : recording_.operands)
            if (operand.tensor.valid()) operand.tensor = TensorId(united[operand.tensor.value]);
    }

    int root_of(int value) const {
        while (recording_.values[value].version_of >= 0) value = recording_.values[value].version_of;
        return value;
    }

    /// Finds the last versions of each storage that ops overwrite (`versions_`), and the parameters and
    /// buffers that one op writes and nothing else uses (`mutated_`).
    void find_writers() {
        std::map<int, std::set<int>> touching, writing;
        for (std::size_t i = 0; i < recording_.ops.size(); ++i) {
            const TapeOp& op = recording_.ops[i].tape;
            has_caller_s_loss_ = has_caller_s_loss_ || op.name == output_gradients_op;
            for_each_value(op, [&](int value) { touching[root_of(value)].insert(static_cast<int>(i)); });
            for (const Overwrite& overwrite : op.overwrites) {
                const int root = root_of(overwrite.before.value);
                writing[root].insert(static_cast<int>(i));
                Versions& versions = versions_[root];
                versions.newest = overwrite.after.value;
                if (!has_caller_s_loss_) versions.of_forward = versions.newest;
            }
        }
        for (int operand : recording_.outputs)
            if (operand != no_operand) touching[root_of(value_of(operand))].insert(-1);
        for (const auto& [root, ops] : writing) {
            const bool persistent =
                is_resident(recording_.values[root]) && is_persistent(recording_.values[root].kind);
            if (persistent && ops.size() == 1 && touching[root].size() == 1) mutated_.insert(root);
        }
    }

    bool mutates(const Overwrite& overwrite) const { return mutated_.contains(overwrite.before.value); }

    /// Versions of a storage that ops overwrite.
    struct Versions {
        int newest = -1;
        int of_forward = -1;  ///< the last version that the forward makes; -1 if only the backward writes
    };

    /// Returns the first and the last versions of each parameter or buffer that ops write and that is not in
    /// `mutated_`.
    std::vector<std::pair<int, Versions>> updates() const {
        std::vector<std::pair<int, Versions>> result;
        for (const auto& [root, versions] : versions_) {
            if (is_persistent(recording_.values[root].kind) && is_resident(recording_.values[root]) &&
                !mutated_.contains(root)) {
                result.emplace_back(root, versions);
            }
        }
        return result;
    }

    void find_needed() {
        std::vector<std::uint8_t> live(recording_.values.size());
        for (int operand : recording_.outputs)
            if (operand != no_operand) live[value_of(operand)] = true;
        for (const GradientOf& gradient : recording_.gradients)
            if (gradient.operand != no_operand) live[value_of(gradient.operand)] = true;
        for (const auto& [root, versions] : updates()) {
            live[versions.newest] = true;
            if (versions.of_forward >= 0) live[versions.of_forward] = true;
        }

        needed_.assign(recording_.ops.size(), 0);
        read_.assign(recording_.ops.size(), 0);
        for (std::size_t i = recording_.ops.size(); i-- > 0;) {
            const RecordedOp& op = recording_.ops[i];
            if (op.dropped) continue;
            for (TensorId value : op.tape.returns) read_[i] |= value.valid() && live[value.index()];
            for (const Overwrite& overwrite : op.tape.overwrites) read_[i] |= live[overwrite.after.index()];
            const bool persists = std::any_of(
                op.tape.overwrites.begin(), op.tape.overwrites.end(), [&](const Overwrite& overwrite) {
                    return mutates(overwrite) &&
                           is_persistent(recording_.values[overwrite.before.value].kind);
                });
            needed_[i] = read_[i] || op.random || op.tape.guard || !op.tape.result_sizes.empty() ||
                         persists || op.tape.name == output_gradients_op;
            if (needed_[i]) for_each_value(op.tape, [&](int value) { live[value] = true; });
        }
        live_ = std::move(live);
    }

    /// Finds the ops of the forward on whose results the outputs or the later contents of buffers depend.
    void find_what_leads_to_loss() {
        std::vector<std::uint8_t> live(recording_.values.size());
        for (int operand : recording_.outputs)
            if (operand != no_operand) live[value_of(operand)] = true;
        for (const auto& [root, versions] : updates())
            if (versions.of_forward >= 0) live[versions.of_forward] = true;
        leads_to_loss_.assign(recording_.ops.size(), 0);
        for (std::size_t i = recording_.ops.size(); i-- > 0;) {
            const TapeOp& op = recording_.ops[i].tape;
            for (TensorId value : op.returns) leads_to_loss_[i] |= value.valid() && live[value.index()];
            for (const Overwrite& overwrite : op.overwrites)
                leads_to_loss_[i] |= live[overwrite.after.index()];
            if (leads_to_loss_[i]) for_each_value(op, [&](int value) { live[value] = true; });
        }
    }

    void number_densely() {
        tensor_of_.assign(recording_.values.size(), TensorId());
        op_of_.assign(recording_.ops.size(), OpId());
        std::vector<std::uint8_t> present(recording_.values.size());
        for (std::size_t v = 0; v < present.size(); ++v) {
            const RecordedValue& value = recording_.values[v];
            if (is_resident(value))
                present[v] = is_persistent(value.kind) || value.kind == TensorKind::input || live_[v];
            else
                present[v] = needed_[value.producer] &&
                             !(value.version_of >= 0 && mutated_.contains(value.version_of));
        }
        std::int32_t next = 0;
        for (std::size_t v = 0; v < present.size(); ++v)
            if (present[v]) tensor_of_[v] = TensorId(next++);
        next = 0;
        for (std::size_t i = 0; i < needed_.size(); ++i)
            if (needed_[i]) op_of_[i] = OpId(next++);
    }

    /// Finds the tensors that the caller holds while its loss runs: the outputs and the new contents of
    /// buffers. They are not recomputed, because the caller still holds their memory.
    void find_handed_out() {
        if (!has_caller_s_loss_) return;
        for (int operand : recording_.outputs)
            if (operand != no_operand) handed_out_.insert(tensor_of_[value_of(operand)]);
        for (const auto& [root, versions] : updates()) handed_out_.insert(tensor_of_[versions.newest]);
    }

    void add_tensor(std::size_t v) {
        const RecordedValue& value = recording_.values[v];
        std::string name = value.name;
        if (!is_resident(value)) {
            const RecordedOp& op = recording_.ops[value.producer];
            name =
                (op.module.empty() ? "" : op.module + ".") + op.tape.name.substr(op.tape.name.rfind(':') + 1);
            if (op.phase == Phase::backward) name = "grad:" + name;
            if (value.version_of >= 0 && is_persistent(recording_.values[root_of(static_cast<int>(v))].kind))
                name = recording_.values[root_of(static_cast<int>(v))].name + ":new";
            const auto nth = std::find(op.tape.returns.begin(), op.tape.returns.end(), TensorId(v));
            if (nth != op.tape.returns.end() && nth != op.tape.returns.begin())
                name += ":" + std::to_string(nth - op.tape.returns.begin());
        }
        step_.graph.tensors.push_back(
            {std::move(name), Bytes(footprint_(value.bytes)), value.kind, value.layout});
        if (value.kind == TensorKind::constant)
            step_.tape.constants.emplace_back(tensor_of_[v], value.contents);
    }

    void add_operand(const Operand& operand) {
        Operand renumbered = operand;
        if (operand.tensor.valid()) renumbered.tensor = tensor_of_[operand.tensor.index()];
        if (operand.tensor.valid() && !renumbered.tensor.valid()) {
            operand_of_.push_back(no_operand);
            return;
        }
        operand_of_.push_back(static_cast<int>(step_.tape.operands.size()));
        step_.tape.operands.push_back(std::move(renumbered));
    }

    void add_op(const RecordedOp& recorded) {
        Op op{.name = recorded.tape.name,
              .phase = recorded.phase,
              .module = recorded.module,
              .source = recorded.source};
        TapeOp tape = recorded.tape;
        op.random = recorded.random;
        op.time = Nanoseconds(recorded.time), op.workspace = Bytes(recorded.workspace);
        const bool nobody_reads = !read_[&recorded - recording_.ops.data()];
        op.recomputable = !(recorded.tape.name == output_gradients_op || recorded.tape.guard ||
                            (recorded.random && nobody_reads));
        if (recorded.of >= 0 && op_of_[recorded.of].valid()) op.of = op_of_[recorded.of];

        for (TensorId& value : tape.returns) {
            value = value.valid() ? tensor_of_[value.index()] : value;
            if (value.valid()) op.outputs.push_back(value);
        }
        for (Argument& argument : tape.arguments) {
            for (int& operand : argument.operands) {
                if (operand == no_operand) continue;
                operand = operand_of_[operand];
                const TensorId read = step_.tape.operands[operand].tensor;
                if (read.valid()) op.inputs.push_back(read);
            }
        }
        if (recorded.tape.name == output_gradients_op) add_end_of_forward(recorded, op);
        if (has_caller_s_loss_) keep_to_its_half(recorded, op);
        std::sort(op.inputs.begin(), op.inputs.end());
        op.inputs.erase(std::unique(op.inputs.begin(), op.inputs.end()), op.inputs.end());
        std::erase_if(op.inputs, [&](TensorId id) {
            return std::find(op.outputs.begin(), op.outputs.end(), id) != op.outputs.end();
        });
        for (Overwrite& overwrite : tape.overwrites) add_overwrite(recorded, overwrite, op);
        for (TensorId made : op.outputs) op.recomputable = op.recomputable && !handed_out_.contains(made);

        step_.graph.ops.push_back(std::move(op));
        step_.tape.ops.push_back(std::move(tape));
    }

    TensorId tensor_without_bytes(std::string name) {
        step_.graph.tensors.push_back({std::move(name), Bytes(0), TensorKind::activation});
        return TensorId(static_cast<std::int32_t>(step_.graph.tensors.size() - 1));
    }

    /// Orders three kinds of ops relative to the loss. Ops whose values the program reads in its forward (to
    /// decide how to continue), and ops of the forward that update buffers, must run before the loss. Random
    /// ops of the backward must draw their numbers after the loss has drawn its own.
    void keep_to_its_half(const RecordedOp& recorded, Op& op) {
        const bool is_loss = recorded.tape.name == output_gradients_op;
        if (is_loss) {
            op.inputs.insert(op.inputs.end(), before_loss_.begin(), before_loss_.end());
            after_loss_ = tensor_without_bytes("loss");
            op.outputs.push_back(after_loss_);
        } else if (after_loss_.valid()) {
            if (recorded.random) op.inputs.push_back(after_loss_);
        } else if (const bool updates = only_updates(recorded);
                   updates || recorded.tape.guard || !recorded.tape.result_sizes.empty()) {
            before_loss_.push_back(tensor_without_bytes((updates ? "update:" : "read:") + op.name));
            op.outputs.push_back(before_loss_.back());
        }
    }

    /// Says whether the op changes a buffer by what the step computes, and the loss needs nothing else of the
    /// op. (An op that changes a buffer by constants, such as a counter, runs before all others in a training
    /// step.)
    bool only_updates(const RecordedOp& recorded) const {
        const TapeOp& op = recorded.tape;
        bool reads_activations = false;
        for_each_value(op, [&](int value) { reads_activations |= !is_resident(recording_.values[value]); });
        return reads_activations &&
               !leads_to_loss_[static_cast<std::size_t>(&recorded - recording_.ops.data())] &&
               std::any_of(op.overwrites.begin(), op.overwrites.end(),
                           [&](const Overwrite& overwrite) { return mutates(overwrite); });
    }

    /// Lets the caller's loss read all outputs, and the contents of the buffers at the end of the forward.
    void add_end_of_forward(const RecordedOp& recorded, Op& op) {
        const auto add = [&](int value) {
            if (recording_.values[value].producer < &recorded - recording_.ops.data())
                op.inputs.push_back(tensor_of_[value]);
        };
        for (int operand : recording_.outputs)
            if (operand != no_operand) add(value_of(operand));
        for (const auto& [root, versions] : updates())
            if (versions.of_forward >= 0) add(versions.of_forward);
    }

    void add_overwrite(const RecordedOp& recorded, Overwrite& overwrite, Op& op) {
        const RecordedValue& before = recording_.values[overwrite.before.value];
        const bool for_good = mutates(overwrite);
        overwrite = {tensor_of_[overwrite.before.index()],
                     for_good ? TensorId() : tensor_of_[overwrite.after.index()]};
        if (for_good) {
            op.mutates.push_back(overwrite.before);
            op.recomputable = op.recomputable && recorded.updates_statistics;
            return;
        }
        op.outputs.push_back(overwrite.after);
        if (!is_resident(before)) op.inplace.push_back({overwrite.after, overwrite.before});
    }

    void add_ends() {
        Tape& tape = step_.tape;
        std::set<TensorId> results;
        for (Binding binding : recording_.bindings) {
            binding.operand.tensor = tensor_of_[binding.operand.tensor.index()];
            tape.bindings.push_back(std::move(binding));
        }
        for (const auto& [spec, operand] : recording_.inputs)
            tape.inputs.emplace_back(spec, operand_of_[operand]);
        for (std::size_t i = 0; i < recording_.outputs.size(); ++i) {
            const int operand = recording_.outputs[i];
            tape.outputs.push_back(operand == no_operand ? no_operand : operand_of_[operand]);
            // An output that nobody holds when the backward begins is no result of the step. It can be freed
            // once the loss has read it.
            const bool held = recording_.outputs_held.empty() || recording_.outputs_held[i];
            if (operand != no_operand && held) results.insert(tape.operands[tape.outputs.back()].tensor);
        }
        for (GradientOf gradient : recording_.gradients) {
            if (gradient.operand != no_operand) {
                gradient.operand = operand_of_[gradient.operand];
                results.insert(tape.operands[gradient.operand].tensor);
            }
            tape.gradients.push_back(std::move(gradient));
        }
        for (const auto& [root, versions] : updates()) {
            BufferUpdate update{tensor_of_[root], tensor_of_[versions.newest]};
            if (versions.of_forward >= 0 && versions.of_forward != versions.newest)
                update.of_forward = tensor_of_[versions.of_forward];
            tape.updates.push_back(update);
            results.insert(update.contents);
        }
        step_.graph.results.assign(results.begin(), results.end());
    }

    Recording recording_;
    const std::function<std::int64_t(std::int64_t)>& footprint_;
    std::map<int, Versions> versions_;  ///< by the first version of each overwritten storage
    std::set<int> mutated_;             ///< parameters and buffers that one op writes and no other op uses
    std::vector<std::uint8_t> needed_, read_, live_, leads_to_loss_;
    std::vector<TensorId> tensor_of_;
    std::set<TensorId> handed_out_;
    bool has_caller_s_loss_ = false;
    std::vector<TensorId> before_loss_;  ///< tensors without bytes; see keep_to_its_half
    TensorId after_loss_;
    std::vector<OpId> op_of_;
    std::vector<int> operand_of_;
    CapturedStep step_;
};

}  // namespace

CapturedStep build_graph(const Recording& recording,
                         const std::function<std::int64_t(std::int64_t)>& footprint) {
    return Builder(recording, footprint).build();
}

Result<void> make_replayable(CapturedStep& step, const std::string& name) {
    try {
        step.graph.replay = std::make_shared<const nlohmann::json>(to_json(step.tape));
    } catch (const std::exception& error) {
        return Error{name + ": cannot be captured: " + error.what()};
    }
    return validate(step.graph);
}

}  // namespace rematlas
