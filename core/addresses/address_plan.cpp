#include "core/addresses/address_plan.h"

#include <algorithm>

#include "core/addresses/packing.h"
#include "core/addresses/round_up.h"
#include "core/schedule/homes.h"
#include "core/schedule/simulate.h"

namespace rematlas {
namespace {

/// Goes through the steps, which must be valid, and records the lifetimes of tensors and workspaces. If a run
/// in place puts an output into the memory of an input, the lifetimes of these two tensors are linked.
class LifetimePlayer {
  public:
    LifetimePlayer(const Graph& graph, const AddressOptions& options)
        : graph_(graph), options_(options), current_(graph.tensors.size(), kNone) {
        const IdVector<TensorId, char> there = on_device_at_start(graph, options.homes);
        for (TensorId t : graph.tensors.ids()) {
            if (there[t] && options.residents) begin(t, -1);
        }
    }

    void play(const std::vector<Step>& steps) {
        for (std::size_t i = 0; i < steps.size(); ++i) {
            now_ = static_cast<std::int32_t>(i);
            const Step& step = steps[i];
            if (step.runs())
                execute(graph_.ops[step.op()], step.op(), step.kind == StepKind::run_inplace);
            else if (step.kind == StepKind::free)
                finish(step.tensor(), now_);
            else if (step.kind == StepKind::fetch)
                begin(step.tensor(), now_);
        }
        now_ = static_cast<std::int32_t>(steps.size());
        for (TensorId t : graph_.tensors.ids()) finish(t, now_);
    }

    Result<AddressPlan> plan() {
        double together = 0;
        for (const Placement& life : lives_)
            together += static_cast<double>(life.bytes.value) + static_cast<double>(options_.alignment);
        if (together > 2e18) return Error{"the tensors are too large to plan addresses for"};
        AddressPlan plan;
        std::int64_t base = 0;
        MemoryBlocks exact, rounded;
        std::vector<std::int32_t> block_of(lives_.size(), kNone);
        for (std::size_t i = 0; i < lives_.size(); ++i) {
            if (whole_step(lives_[i])) {
                lives_[i].offset = Bytes(base);
                base += aligned(lives_[i].bytes.value);
                plan.live_peak += lives_[i].bytes;
            } else if (taken_over_from_[i] == kNone) {
                for (auto at = static_cast<std::int32_t>(i); at != kNone; at = taken_over_by_[at])
                    block_of[at] = static_cast<std::int32_t>(rounded.size());
                add_block(static_cast<std::int32_t>(i), 1, exact);
                add_block(static_cast<std::int32_t>(i), options_.alignment, rounded);
            }
        }
        const Packing packing = pack(rounded, options_.effort);
        for (std::size_t i = 0; i < lives_.size(); ++i) {
            if (block_of[i] != kNone) lives_[i].offset = Bytes(base + packing.offsets[block_of[i]]);
        }
        plan.arena = Bytes(base + packing.top);
        plan.aligned_live_peak = Bytes(base + live_peak(rounded));
        plan.live_peak += Bytes(live_peak(exact));
        plan.placements = std::move(lives_);
        return plan;
    }

  private:
    static constexpr std::int32_t kNone = -1;

    void execute(const Op& op, OpId id, bool in_place) {
        std::vector<std::int32_t> before;
        for (TensorId t : op.outputs) {
            before.push_back(kNone);
            if (!in_place) continue;
            for (const InplacePair& pair : op.inplace) {
                if (pair.out != t) continue;
                before.back() = current_[pair.in];
                finish(pair.in, now_);
            }
        }
        for (std::size_t i = 0; i < op.outputs.size(); ++i) {
            finish(op.outputs[i], now_ + 1);  // an older copy of the output is held while the op runs
            begin(op.outputs[i], now_);
            if (before[i] == kNone) continue;
            taken_over_from_.back() = before[i];
            taken_over_by_[before[i]] = static_cast<std::int32_t>(lives_.size()) - 1;
        }
        if (op.workspace.value == 0) return;
        add({Placement::Kind::workspace, id.value, now_, now_ + 1, Bytes(0), op.workspace});
    }

    void begin(TensorId t, std::int32_t first) {
        current_[t] = static_cast<std::int32_t>(lives_.size());
        add({Placement::Kind::tensor, t.value, first, kNone, Bytes(0), graph_.tensors[t].bytes});
    }
    void finish(TensorId t, std::int32_t end) {
        if (current_[t] == kNone) return;
        lives_[current_[t]].end = end;
        current_[t] = kNone;
    }
    void add(const Placement& life) {
        lives_.push_back(life);
        taken_over_from_.push_back(kNone);
        taken_over_by_.push_back(kNone);
    }

    bool whole_step(const Placement& life) const { return life.first < 0 && life.end == now_; }
    std::int64_t aligned(std::int64_t bytes) const { return round_up(bytes, options_.alignment); }

    /// Adds a block for the chain of linked lifetimes that begins at `at`. During a run in place the block is
    /// as wide as the input or the output, whichever is larger.
    void add_block(std::int32_t at, std::int64_t alignment, MemoryBlocks& blocks) const {
        std::int32_t from = std::max(0, lives_[at].first);
        for (; at != kNone; at = taken_over_by_[at]) {
            const Placement& life = lives_[at];
            const std::int64_t width = round_up(life.bytes.value, alignment);
            const std::int32_t by = taken_over_by_[at];
            // All tensors that exist at the start need separate places, even a tensor that the first step
            // frees.
            std::int32_t last = life.first < 0 ? std::max(life.end - 1, 0) : life.end - 1;
            if (by != kNone && lives_[by].bytes < life.bytes) last = lives_[by].first;
            if (from > last) continue;
            BlockSegment* before = blocks.segments.size() > static_cast<std::size_t>(blocks.begin.back())
                                       ? &blocks.segments.back()
                                       : nullptr;
            if (before && before->width == width)
                before->last = last;
            else
                blocks.segments.push_back({from, last, width});
            from = last + 1;
        }
        blocks.begin.push_back(static_cast<std::int32_t>(blocks.segments.size()));
    }

    const Graph& graph_;
    const AddressOptions& options_;
    IdVector<TensorId, std::int32_t> current_;  ///< per tensor: index of its current lifetime
    std::vector<Placement> lives_;
    /// Per lifetime: the lifetime that had its memory before, and the lifetime that takes its memory over;
    /// kNone if there is none.
    std::vector<std::int32_t> taken_over_from_, taken_over_by_;
    std::int32_t now_ = 0;
};

}  // namespace

Result<AddressPlan> plan_addresses(const Graph& graph, const std::vector<Step>& steps,
                                   const AddressOptions& options) {
    if (options.alignment < 1)
        return Error{"alignment must be at least 1, not " + std::to_string(options.alignment)};
    if (const Result<Simulation> possible = simulate(graph, steps, options.homes, options.links); !possible)
        return possible.error();
    LifetimePlayer player(graph, options);
    player.play(steps);
    return player.plan();
}

std::int64_t alignment_for(const Graph& graph) {
    return graph.device ? graph.device->alignment : AddressOptions{}.alignment;
}

Addresses addresses_from(const AddressPlan& plan, std::int64_t alignment) {
    Addresses addresses{.alignment = alignment, .arena = plan.arena, .offsets = {}};
    for (const Placement& p : plan.placements) addresses.offsets.push_back(p.offset);
    return addresses;
}

}  // namespace rematlas
