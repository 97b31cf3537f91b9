#include "core/pins/pinned_step.h"

#include <algorithm>
#include <set>
#include <utility>

namespace rematlas {
namespace {

/// Builds the graph with copies, in the order of the original. Each copy is right before its first reader.
class CopyBuilder {
  public:
    CopyBuilder(const Graph& original, PinnedOps pinned)
        : original_(original), maker_(producers(original)), copy_of_(original.tensors.size()) {
        step_.pinned = std::move(pinned);
        step_.graph = original;
        step_.graph.ops = {};
        step_.graph.blocks = {};  // solvers make new blocks for the graph with copies
        step_.graph.replay.reset();
        step_.graph.sha256.clear();
        for (TensorId t : original.tensors.ids()) step_.tensor_of.push_back(t);
    }

    PinnedStep build() {
        for (OpId id : original_.ops.ids()) {
            if (id > step_.pinned.loss) make_again(original_.ops[id].inputs);
            Op op = original_.ops[id];
            if (step_.pinned.keep[id]) op.recomputable = false;
            if (id > step_.pinned.loss) read_copies(op);
            op.of.reset();
            add(std::move(op), id);
        }
        return std::move(step_);
    }

    /// Returns for each op of the graph whether it is a copy.
    const std::vector<std::uint8_t>& is_copy() const { return is_copy_; }

  private:
    void make_again(const std::vector<TensorId>& tensors) {
        for (TensorId t : tensors) {
            if (step_.pinned.made_again[t] && !copy_of_[t].valid()) add_copy(maker_[t]);
        }
    }

    void add_copy(OpId id) {
        Op copy = original_.ops[id];
        make_again(copy.inputs);
        read_copies(copy);
        for (TensorId& out : copy.outputs) {
            const TensorId t = out;
            out = copy_of_[t] = add_tensor(original_.tensors[t], t);
            for (InplacePair& pair : copy.inplace) {
                if (pair.out == t) pair.out = out;
            }
        }
        copy.inputs.push_back(backward_begins());
        copy.phase = Phase::backward;
        copy.mutates.clear();
        copy.of.reset();
        add(std::move(copy), id);
        is_copy_.back() = 1;
    }

    void read_copies(Op& op) const {
        const auto read = [&](TensorId& t) {
            if (copy_of_[t].valid() && step_.pinned.made_again[t]) t = copy_of_[t];
        };
        for (TensorId& t : op.inputs) read(t);
        for (InplacePair& pair : op.inplace) read(pair.in);
    }

    TensorId backward_begins() {
        if (!begins_.valid()) {
            begins_ = add_tensor({.name = "the backward pass begins", .bytes = Bytes(0)}, TensorId());
            step_.graph.ops[step_.pinned.loss].outputs.push_back(begins_);
        }
        return begins_;
    }

    TensorId add_tensor(Tensor tensor, TensorId of) {
        step_.tensor_of.push_back(of);
        return step_.graph.tensors.push_back(std::move(tensor));
    }
    void add(Op op, OpId of) {
        step_.graph.ops.push_back(std::move(op));
        step_.op_of.push_back(of);
        is_copy_.push_back(0);
    }

    const Graph& original_;
    IdVector<TensorId, OpId> maker_;
    IdVector<TensorId, TensorId> copy_of_;
    TensorId begins_;
    std::vector<std::uint8_t> is_copy_;
    PinnedStep step_;
};

/// Says whether an op that makes a pinned tensor also makes a tensor that is not pinned. A run of such an op
/// after the loss may serve either tensor.
bool serves_both(const PinnedStep& step, const FlatGraph& original, OpId op) {
    const auto outputs = original.outputs[op.index()];
    return std::any_of(outputs.begin(), outputs.end(), [&](std::int32_t t) {
        return !step.pinned.made_again[TensorId(t)] && (original.is_result[t] || !original.users[t].empty());
    });
}

/// Returns for each op of the original whether the loss needs it.
std::vector<std::uint8_t> needed_by_loss(const FlatGraph& original, OpId loss) {
    std::vector<std::uint8_t> needed(original.op_count, 0);
    if (!loss.valid()) return needed;
    needed[loss.index()] = 1;
    for (int op = loss.value; op >= 0; --op) {
        if (!needed[op]) continue;
        for (std::int32_t t : original.inputs[op]) needed[original.producer[t]] = 1;
    }
    return needed;
}

/// Returns a relaxation of the step: every schedule that obeys the pins is also a schedule of the returned
/// graph. A run before the end of the loss is a run of the op. A later run is a run of the copy, and also of
/// the op if the op also makes a tensor that is not pinned (`serves_both`). The schedule must not take
/// more time or memory in this form. So the copy of an op that serves both takes no time. Any other op with a
/// copy takes no time if its first run could come after the loss. The bytes of a tensor that the op and its
/// copy make count once. If an op that serves both has several in-place pairs, its copy takes no bytes and no
/// workspace either.
FlatGraph relaxed(const PinnedStep& step, const FlatGraph& original,
                  const std::vector<std::uint8_t>& is_copy) {
    FlatGraph flat = step.flat;
    const std::vector<std::uint8_t> before_loss = needed_by_loss(original, step.pinned.loss);
    std::vector<std::int32_t> first_of(original.op_count);
    for (int op = 0; op < flat.op_count; ++op)
        if (!is_copy[op]) first_of[step.op_of[op].index()] = op;
    for (int op = 0; op < flat.op_count; ++op) {
        if (!is_copy[op]) continue;
        const OpId of = step.op_of[op];
        const bool both = serves_both(step, original, of);
        const bool for_nothing = both && original.inplace_pairs(of.value).size() > 1;
        for (std::int32_t t : flat.outputs[op]) {
            const TensorId ours = step.tensor_of[t];
            const bool pinned = step.pinned.made_again[ours];
            if (pinned) flat.bytes[ours.index()] = 0;
            if (!pinned || for_nothing) flat.bytes[t] = 0;
        }
        if (both) flat.time[op] = 0;
        if (for_nothing) flat.workspace[op] = 0;
        if (!both && !before_loss[of.index()]) flat.time[first_of[of.index()]] = 0;
    }
    for (FlatGraph::Pair& pair : flat.inplace)
        pair.saved = std::min(flat.bytes[pair.out], flat.bytes[pair.in]);
    return flat;
}

/// Tracks which pinned tensors were made after the loss, while runs of the original are simulated.
class Freshness {
  public:
    Freshness(const PinnedOps& pinned, const FlatGraph& original)
        : pinned_(pinned), original_(original), fresh_(original.tensor_count, 0) {}

    bool is_stale(std::int32_t t) const { return begun_ && pinned_.made_again[TensorId(t)] && !fresh_[t]; }
    bool reads_stale(std::int32_t op) const {
        const auto inputs = original_.inputs[op];
        return std::any_of(inputs.begin(), inputs.end(), [&](std::int32_t t) { return is_stale(t); });
    }
    void run(std::int32_t op) {
        if (begun_)
            for (std::int32_t t : original_.outputs[op]) fresh_[t] = 1;
        if (OpId(op) == pinned_.loss) begun_ = true;
    }

  private:
    const PinnedOps& pinned_;
    const FlatGraph& original_;
    std::vector<std::uint8_t> fresh_;
    bool begun_ = false;
};

/// Appends the op. Before it, appends the makers of its stale inputs, each after the makers of its own stale
/// inputs.
void append_with_makers(const FlatGraph& original, std::int32_t op, Freshness& fresh, RunSequence& runs) {
    for (std::int32_t t : original.inputs[op]) {
        if (fresh.is_stale(t)) append_with_makers(original, original.producer[t], fresh, runs);
    }
    fresh.run(op);
    runs.push_back(op);
}

constexpr std::int64_t kMostEvents = 400'000'000;  ///< most inputs and runs that `without_spare`
                                                   ///< visits: about a second

/// Leaves out repeated runs of ops that were copied, the longest first, if the sequence stays within the
/// budget and obeys the pins.
RunSequence without_spare(const PinnedStep& step, const FlatGraph& original, RunSequence runs, Bytes budget) {
    std::vector<std::uint8_t> copied(original.op_count, 0), seen(original.op_count, 0);
    for (int op = 0; op < original.op_count; ++op) {
        for (std::int32_t t : original.outputs[op]) copied[op] |= step.pinned.made_again[TensorId(t)];
    }
    std::vector<std::size_t> spare;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (seen[runs[i]] && copied[runs[i]]) spare.push_back(i);
        seen[runs[i]] = 1;
    }
    std::stable_sort(spare.begin(), spare.end(), [&](std::size_t a, std::size_t b) {
        return original.time[runs[a]] > original.time[runs[b]];
    });
    std::vector<std::uint8_t> left_out(runs.size(), 0);
    std::int64_t events = 0;
    RunSequence tried;
    for (const std::size_t out : spare) {
        left_out[out] = 1;
        tried.clear();
        for (std::size_t i = 0; i < runs.size(); ++i)
            if (!left_out[i]) tried.push_back(runs[i]);
        if (!makes_again(step.pinned, original, tried) || cost_of(original, tried).peak > budget.value)
            left_out[out] = 0;
        events += static_cast<std::int64_t>(original.inputs.items.size() + runs.size());
        if (events > kMostEvents) break;
    }
    tried.clear();
    for (std::size_t i = 0; i < runs.size(); ++i)
        if (!left_out[i]) tried.push_back(runs[i]);
    return tried;
}

class Mapping {
  public:
    Mapping(const PinnedStep& step, const Graph& original)
        : step_(step),
          maker_(producers(original)),
          on_device_(original.tensors.size()),
          on_host_(original.tensors.size()) {}

    std::vector<Step> map(std::span<const Step> steps) {
        for (const Step& step : steps) {
            if (step.names_op())
                run(step);
            else if (step_.tensor_of[step.tensor().index()].valid())
                move(step);
        }
        return std::move(mapped_);
    }

  private:
    using Versions = std::set<TensorId>;  ///< tensors of the graph under pins that stand for one tensor of
                                          ///< the original

    TensorId of(TensorId t) const { return step_.tensor_of[t.index()]; }

    void run(const Step& step) {
        const Op& op = step_.graph.ops[step.op()];
        mapped_.push_back({step.kind, step_.op_of[step.op().index()].value});
        if (step.kind == StepKind::run_inplace)
            for (const InplacePair& pair : op.inplace)
                if (of(pair.in).valid()) on_device_[of(pair.in)].clear();
        for (const TensorId t : op.outputs) {
            if (!of(t).valid()) continue;
            (step.kind == StepKind::run_host ? on_host_ : on_device_)[of(t)].insert(t);
        }
    }

    void move(const Step& step) {
        const TensorId t = step.tensor(), ours = of(t);
        // Residents are the same in both graphs, so their steps always change something.
        const bool changes = !maker_[ours].valid()          ? true
                             : step.kind == StepKind::free  ? leaves(on_device_[ours], t)
                             : step.kind == StepKind::fetch ? comes(on_device_[ours], t)
                             : step.kind == StepKind::drop  ? leaves(on_host_[ours], t)
                                                            : comes(on_host_[ours], t);
        if (changes) mapped_.push_back({step.kind, ours.value});
    }

    static bool comes(Versions& there, TensorId t) {
        const bool first = there.empty();
        there.insert(t);
        return first;
    }
    static bool leaves(Versions& there, TensorId t) {
        there.erase(t);
        return there.empty();
    }

    const PinnedStep& step_;
    const IdVector<TensorId, OpId> maker_;
    IdVector<TensorId, Versions> on_device_, on_host_;
    std::vector<Step> mapped_;
};

}  // namespace

bool makes_again(const PinnedOps& pinned, const FlatGraph& original, std::span<const std::int32_t> runs) {
    Freshness fresh(pinned, original);
    for (const std::int32_t op : runs) {
        if (fresh.reads_stale(op)) return false;
        fresh.run(op);
    }
    return true;
}

Result<PinnedStep> pinned_step(const Graph& graph, const Pins& pins) {
    Result<PinnedOps> pinned = pinned_ops(graph, pins);
    if (!pinned) return pinned.error();
    const auto& again = pinned->made_again;
    const bool exact =
        std::none_of(again.begin(), again.end(), [](std::uint8_t pinned) { return pinned != 0; });
    CopyBuilder builder(graph, pinned.take());
    PinnedStep step = builder.build();
    step.exact = exact;
    step.flat = flatten(step.graph);
    step.relaxed = step.flat;
    if (step.exact) return step;
    step.relaxed = relaxed(step, flatten(graph), builder.is_copy());
    return step;
}

RunSequence on_original(const PinnedStep& step, const FlatGraph& original, std::span<const std::int32_t> runs,
                        Bytes budget) {
    RunSequence made;
    Freshness fresh(step.pinned, original);
    for (const std::int32_t run : runs) append_with_makers(original, step.op_of[run].value, fresh, made);
    // Useless runs are left out only if the pins are still obeyed: if the loss runs twice, its first run may
    // be needed only to mark where the backward begins.
    if (RunSequence useful = without_useless(original, made); makes_again(step.pinned, original, useful))
        made = std::move(useful);
    return without_spare(step, original, std::move(made), budget);
}

std::vector<Step> on_original(const PinnedStep& step, const Graph& original, std::span<const Step> steps) {
    return Mapping(step, original).map(steps);
}

}  // namespace rematlas
