#include "core/solvers/annealing/greedy_start.h"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace rematlas::annealing {

namespace {

constexpr int kMostAncestors = 64;
constexpr std::size_t kMostRunsAnOp = 4;
constexpr int kMostRefreshes = 6;
constexpr int kNever = std::numeric_limits<int>::max();

class Decoder {
  public:
    Decoder(const FlatGraph& graph, std::int64_t budget, const GreedyRule& rule, const Deadline& deadline);
    std::optional<RunSequence> decode();

  private:
    struct TensorState {
        std::int32_t alive_at = -1;   ///< index in alive_; -1 if not on the device
        std::int32_t pins = 0;        ///< number of pending runs that need the tensor
        std::uint32_t next_user = 0;  ///< index in the tensor's users: the first that has not run yet
        float worth = 0;              ///< bytes / cost; `weight` also contains the distance
        bool stale = true;            ///< whether `worth` must be computed again
    };
    struct Frame {
        int op;
        std::uint32_t next_input;
    };

    bool run_with_inputs(int op);
    bool run(int op);
    void make_room(std::int64_t bytes);
    int find_victim();
    float refresh(int tensor);
    double ancestor_time(int tensor);
    float weight(int tensor) const;
    void bring(int tensor);
    void drop(int tensor);
    void unpin_inputs(int op);
    void touch_users(int tensor);
    int next_use(int tensor);
    bool is_dead(int tensor) { return next_use(tensor) == kNever && !graph_.is_result[tensor]; }

    const FlatGraph& graph_;
    const std::int64_t budget_;
    const GreedyRule rule_;
    const Deadline& deadline_;
    std::int64_t held_;
    int now_ = 0;    ///< the op that runs next for the first time
    int done_ = -1;  ///< the op that most recently ran for the first time
    std::vector<TensorState> tensors_;
    std::vector<int> alive_;  ///< tensors on the device that may be evicted
    std::vector<Frame> frames_;
    std::vector<int> stack_, seen_;
    std::vector<std::uint8_t> marked_;
    RunSequence runs_;
};

Decoder::Decoder(const FlatGraph& graph, std::int64_t budget, const GreedyRule& rule,
                 const Deadline& deadline)
    : graph_(graph),
      budget_(budget),
      rule_(rule),
      deadline_(deadline),
      held_(graph.resident_bytes),
      tensors_(graph.tensor_count),
      marked_(graph.op_count) {}

std::optional<RunSequence> Decoder::decode() {
    for (now_ = 0; now_ < graph_.op_count; ++now_) {
        if (!graph_.required[now_]) continue;
        if (!run_with_inputs(now_)) return std::nullopt;
    }
    return std::move(runs_);
}

// Runs the op after its missing inputs, which are made depth first. The stack is explicit, because chains of
// evicted tensors can be long.
bool Decoder::run_with_inputs(int first) {
    frames_.assign(1, {first, 0});
    while (!frames_.empty()) {
        Frame& frame = frames_.back();
        const auto inputs = graph_.inputs[frame.op];
        if (frame.next_input < inputs.size()) {
            const int tensor = inputs[frame.next_input];
            const int producer = graph_.producer[tensor];
            if (tensors_[tensor].alive_at < 0 && graph_.recomputable[producer]) {
                frames_.push_back({producer, 0});
                continue;
            }
            // The tensor was dropped too early, because it cannot be recomputed. From here on it counts as
            // kept, even if this exceeds the budget.
            if (tensors_[tensor].alive_at < 0) bring(tensor);
            ++tensors_[tensor].pins;
            ++frame.next_input;
            continue;
        }
        const int op = frame.op;
        frames_.pop_back();
        if (!run(op)) return false;
    }
    return true;
}

bool Decoder::run(int op) {
    if (frames_.empty()) done_ = now_;
    std::int64_t needed = graph_.workspace[op];
    for (const int t : graph_.outputs[op]) {
        if (tensors_[t].alive_at >= 0) drop(t);
        needed += graph_.bytes[t];
    }
    bool in_place = true;
    for (const FlatGraph::Pair& pair : graph_.inplace_pairs(op)) {
        const TensorState& input = tensors_[pair.in];
        in_place = in_place && input.pins == 1 && is_dead(pair.in);
    }
    if (in_place) needed -= graph_.saved_in_place(op);
    if (held_ + needed > budget_) make_room(needed);
    runs_.push_back(op);
    for (const int t : graph_.outputs[op]) bring(t);
    unpin_inputs(op);
    // While other runs are pending, outputs are not dropped, because one of those runs needs them. It pins
    // them before anything else runs.
    if (frames_.empty())
        for (const int t : graph_.outputs[op])
            if (is_dead(t)) drop(t);
    if (runs_.size() % 64 == 0 && deadline_.passed()) return false;
    return runs_.size() <= kMostRunsAnOp * static_cast<std::size_t>(graph_.op_count) + 16;
}

void Decoder::unpin_inputs(int op) {
    for (const int t : graph_.inputs[op])
        if (--tensors_[t].pins == 0 && is_dead(t)) drop(t);
}

void Decoder::make_room(std::int64_t bytes) {
    while (held_ + bytes > budget_) {
        const int victim = find_victim();
        if (victim < 0) return;
        drop(victim);
    }
}

// Returns the tensor to evict; -1 if there is none. Costs that include ancestors change slowly. So only the
// costs that are marked as outdated, and the cost of the chosen tensor, are computed again. If the `worth` of
// the chosen tensor has fallen much, the function chooses again.
int Decoder::find_victim() {
    int best = -1;
    for (int round = 0; round <= kMostRefreshes; ++round) {
        best = -1;
        float best_weight = -1;
        for (const int tensor : alive_) {
            const TensorState& state = tensors_[tensor];
            if (state.pins > 0 || graph_.bytes[tensor] == 0 || !graph_.recomputable[graph_.producer[tensor]])
                continue;
            if (state.stale) refresh(tensor);
            const float w = weight(tensor);
            if (w > best_weight) {
                best_weight = w;
                best = tensor;
            }
        }
        if (best < 0 || !rule_.with_ancestors) return best;
        const float old = tensors_[best].worth;
        if (refresh(best) >= 0.95f * old) return best;
    }
    return best;
}

float Decoder::refresh(int tensor) {
    TensorState& state = tensors_[tensor];
    double cost = static_cast<double>(graph_.time[graph_.producer[tensor]]) + 1;
    if (rule_.with_ancestors) cost += ancestor_time(tensor);
    state.worth = static_cast<float>(static_cast<double>(graph_.bytes[tensor]) / cost);
    state.stale = false;
    return state.worth;
}

double Decoder::ancestor_time(int tensor) {
    double time = 0;
    stack_.assign(1, graph_.producer[tensor]);
    seen_.assign(1, graph_.producer[tensor]);
    marked_[seen_.front()] = 1;
    while (!stack_.empty() && seen_.size() < kMostAncestors) {
        const int op = stack_.back();
        stack_.pop_back();
        for (const int input : graph_.inputs[op]) {
            const int producer = graph_.producer[input];
            if (tensors_[input].alive_at >= 0 || marked_[producer]) continue;
            marked_[producer] = 1;
            seen_.push_back(producer);
            stack_.push_back(producer);
            time += static_cast<double>(graph_.time[producer]);
        }
    }
    for (const int op : seen_) marked_[op] = 0;
    return time;
}

float Decoder::weight(int tensor) const {
    const TensorState& state = tensors_[tensor];
    if (rule_.distance == GreedyRule::Distance::ignored) return state.worth;
    const auto users = graph_.users[tensor];
    std::uint32_t at = state.next_user;
    while (at < users.size() && users[at] <= done_) ++at;
    const int use = at < users.size() ? users[at] : graph_.op_count;
    const float distance = static_cast<float>(use - now_ + 1);
    return state.worth * (rule_.distance == GreedyRule::Distance::linear ? distance : std::sqrt(distance));
}

int Decoder::next_use(int tensor) {
    const auto users = graph_.users[tensor];
    std::uint32_t& at = tensors_[tensor].next_user;
    while (at < users.size() && (users[at] <= done_ || !graph_.required[users[at]])) ++at;
    return at < users.size() ? users[at] : kNever;
}

void Decoder::bring(int tensor) {
    tensors_[tensor].alive_at = static_cast<std::int32_t>(alive_.size());
    alive_.push_back(tensor);
    held_ += graph_.bytes[tensor];
    tensors_[tensor].stale = true;
    touch_users(tensor);
}

void Decoder::drop(int tensor) {
    const std::int32_t at = tensors_[tensor].alive_at;
    alive_[at] = alive_.back();
    tensors_[alive_[at]].alive_at = at;
    alive_.pop_back();
    tensors_[tensor].alive_at = -1;
    held_ -= graph_.bytes[tensor];
    touch_users(tensor);
}

// Called when a tensor was dropped or made. Marks the costs of the tensors that are made from it as outdated.
void Decoder::touch_users(int tensor) {
    if (!rule_.with_ancestors) return;
    for (const int user : graph_.users[tensor])
        for (const int output : graph_.outputs[user]) tensors_[output].stale = true;
}

}  // namespace

std::optional<RunSequence> greedy_start(const FlatGraph& graph, std::int64_t budget, const GreedyRule& rule,
                                        const Deadline& deadline) {
    return Decoder(graph, budget, rule, deadline).decode();
}

Candidate best_start(const FlatGraph& graph, std::int64_t budget, Candidate fallback,
                     const Deadline& deadline, double share,
                     const std::function<void(const Candidate&)>& found) {
    using enum GreedyRule::Distance;
    // The rules that are computed fastest come first, so that a large graph has an answer before the other
    // rules are tried.
    constexpr GreedyRule kRules[] = {{linear, false},     {square_root, false}, {linear, true},
                                     {square_root, true}, {ignored, true},      {ignored, false}};
    Candidate best = std::move(fallback);
    for (const GreedyRule& rule : kRules) {
        if (deadline.passed() || (best.peak <= budget && deadline.fraction() > share)) break;
        std::optional<RunSequence> runs = greedy_start(graph, budget, rule, deadline);
        if (!runs) continue;
        Candidate candidate = Candidate::of(graph, std::move(*runs));
        found(candidate);
        if (candidate.better_than(best, budget)) best = std::move(candidate);
    }
    return best;
}

}  // namespace rematlas::annealing
