#include "tests/core/support/random_copying_schedule.h"

#include <algorithm>
#include <optional>
#include <random>

namespace rematlas {
namespace {

class RandomPlay {
  public:
    RandomPlay(const Graph& graph, std::uint64_t seed)
        : graph_(graph), random_(seed), producer_(producers(graph)) {
        const std::size_t count = graph.tensors.size();
        device_.assign(count, 0);
        host_.assign(count, 0);
        leaving_.assign(count, 0);
        arriving_.assign(count, 0);
        ran_.assign(graph.ops.size(), 0);
        last_use_.assign(count, -1);
        for (TensorId t : graph.tensors.ids()) {
            device_[t.index()] = !producer_[t].valid();
            habit_.push_back(static_cast<int>(random_() % 3));
        }
        for (OpId op : graph.ops.ids()) {
            for (TensorId t : graph.ops[op].inputs) last_use_[t.index()] = op.value;
            for (TensorId t : graph.ops[op].mutates) last_use_[t.index()] = op.value;
        }
        for (TensorId t : graph.tensors.ids()) {
            if (!producer_[t].valid()) last_use_[t.index()] = kEnd;
        }
        for (TensorId t : graph.results) last_use_[t.index()] = kEnd;
        lag_ = static_cast<int>(random_() % 4);
    }

    /// Returns the steps. Returns nullopt if an op would have to overwrite or update a tensor whose copy can
    /// still be running: there is no step that only waits for a copy.
    std::optional<std::vector<Step>> run() {
        for (OpId op : graph_.ops.ids()) {
            now_ = op.value;
            fetch_ahead();
            make(op);
            let_go();
        }
        now_ = kEnd;
        for (TensorId t : graph_.tensors.ids()) {
            if (last_use_[t.index()] == kEnd) bring(t);
        }
        if (stuck_) return std::nullopt;
        return std::move(steps_);
    }

  private:
    static constexpr int kEnd = 1 << 30;

    bool chance(int percent) { return static_cast<int>(random_() % 100) < percent; }
    bool is_resident(TensorId t) const { return !producer_[t].valid(); }

    void fetch_ahead() {
        for (int op = now_; op < std::min<int>(now_ + lag_, static_cast<int>(graph_.ops.size())); ++op) {
            for (TensorId t : graph_.ops[OpId(op)].inputs) {
                if (!device_[t.index()] && host_[t.index()] && chance(70)) bring(t);
            }
        }
    }

    void bring(TensorId t) {
        if (device_[t.index()]) return;
        if (!host_[t.index()]) return make(producer_[t]);
        steps_.push_back(Step::fetch(t));
        device_[t.index()] = arriving_[t.index()] = 1;
    }
    void offload(TensorId t) {
        steps_.push_back(Step::offload(t));
        host_[t.index()] = leaving_[t.index()] = 1;
    }
    /// Frees the tensor. The step waits until a running copy to the host is done.
    void free(TensorId t) {
        steps_.push_back(Step::free(t));
        device_[t.index()] = leaving_[t.index()] = 0;
    }

    void make(OpId id) {
        const Op& op = graph_.ops[id];
        for (TensorId t : op.inputs) bring(t);
        for (TensorId t : op.inputs) bring(t);  // again, because making one input can overwrite another input
        if (id.value == now_) {
            for (TensorId t : op.mutates) {
                if (leaving_[t.index()] && !arriving_[t.index()]) free(t);
                stuck_ = stuck_ || leaving_[t.index()];
                bring(t);
                host_[t.index()] = 0;
            }
        }
        for (TensorId t : op.outputs) {
            if (!device_[t.index()]) continue;
            stuck_ = stuck_ || arriving_[t.index()];
            if (leaving_[t.index()]) free(t);
        }
        const bool first = id.value == now_ && !ran_[id.index()];
        ran_[id.index()] = 1;
        bool in_place = !op.inplace.empty() && first;
        for (const InplacePair& pair : op.inplace)
            in_place = in_place && !is_resident(pair.in) && last_use_[pair.in.index()] == now_ &&
                       !leaving_[pair.in.index()] && can_lose(pair.in, now_ - 1);
        for (TensorId t : op.inputs) arriving_[t.index()] = 0;
        for (TensorId t : op.mutates) arriving_[t.index()] = 0;
        steps_.push_back(in_place ? Step::run_inplace(id) : Step::run(id));
        for (const InplacePair& pair : op.inplace)
            if (in_place) device_[pair.in.index()] = 0;
        for (TensorId t : op.outputs) device_[t.index()] = 1;
    }

    void let_go() {
        for (TensorId t : graph_.tensors.ids()) {
            if (!device_[t.index()]) continue;
            const bool needed = last_use_[t.index()] > now_;
            if (needed && habit_[t.index()] == 0 && !chance(3)) continue;
            if (needed && !host_[t.index()] && (habit_[t.index()] == 1 || is_resident(t)) && chance(80)) {
                offload(t);
            }
            if (needed && is_soon_read(t)) continue;
            if (!needed || chance(60)) try_to_free(t);
        }
    }

    bool is_soon_read(TensorId t) const {
        const int end = std::min<int>(now_ + 1 + lag_, static_cast<int>(graph_.ops.size()));
        for (int op = now_ + 1; op < end; ++op) {
            const auto& inputs = graph_.ops[OpId(op)].inputs;
            if (std::find(inputs.begin(), inputs.end(), t) != inputs.end()) return true;
        }
        return false;
    }

    void try_to_free(TensorId t) {
        const bool only_copy = is_resident(t) && !host_[t.index()];
        if (!only_copy && !arriving_[t.index()] && can_lose(t, now_)) free(t);
    }

    /// Says whether all tensors that are needed later can be made without `t`. Considers only tensors of the
    /// ops up to `last_op`.
    bool can_lose(TensorId t, int last_op) {
        device_[t.index()] = 0;
        bool can = true;
        for (TensorId u : graph_.tensors.ids()) {
            const bool made = is_resident(u) || producer_[u].value <= last_op;
            can = can && (!made || last_use_[u.index()] <= now_ || can_be_had(u));
        }
        device_[t.index()] = 1;
        return can;
    }

    bool can_be_had(TensorId t) const {
        if (device_[t.index()] || host_[t.index()]) return true;
        if (is_resident(t) || !graph_.ops[producer_[t]].recomputable) return false;
        const auto& inputs = graph_.ops[producer_[t]].inputs;
        return std::all_of(inputs.begin(), inputs.end(), [&](TensorId u) { return can_be_had(u); });
    }

    const Graph& graph_;
    std::mt19937_64 random_;
    IdVector<TensorId, OpId> producer_;
    std::vector<std::uint8_t> device_, host_, ran_;
    std::vector<std::uint8_t> leaving_, arriving_;  ///< whether a copy has begun, and no later step has
                                                    ///< waited for it
    bool stuck_ = false;
    std::vector<int> last_use_;  ///< index of the last op that uses the tensor, or kEnd
    std::vector<int> habit_;     ///< 0: keep, 1: copy, 2: recompute
    int now_ = 0, lag_ = 0;
    std::vector<Step> steps_;
};

}  // namespace

std::vector<Step> random_copying_schedule(const Graph& graph, std::uint64_t seed) {
    for (std::uint64_t more = 0;; more += 1'000'003) {
        if (auto steps = RandomPlay(graph, seed + more).run()) return *std::move(steps);
    }
}

}  // namespace rematlas
