#include "core/checking/check_pins.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace rematlas {
namespace {

constexpr std::size_t kMostBroken = 20;

/// Goes through the schedule step by step and checks one pin by the rules in pin.h. The code is deliberately
/// simple and slow.
class PinCheck {
  public:
    PinCheck(const Graph& graph, const Pin& pin) : graph_(graph), pin_(pin) {
        for (OpId id : graph.ops.ids()) {
            for (TensorId t : graph.ops[id].outputs) maker_[t] = id;
            if (graph.ops[id].phase == Phase::loss) loss_ = id;
        }
        for (OpId id : graph.ops.ids()) module_[id] = module_of(id);
        leaves_.insert(graph.results.begin(), graph.results.end());
        for (OpId id : graph.ops.ids()) see_what_leaves(id);
        for (OpId id : graph.ops.ids()) match_op(id);
    }

    void run(const std::vector<Step>& steps, std::vector<std::string>& broken) {
        if (!matched_) broken.push_back("pin '" + to_string(pin_) + "' matches nothing in the graph");
        if (pin_.kind == PinKind::recompute && !loss_)
            broken.push_back("pin '" + to_string(pin_) +
                             "': the graph has no loss, so no backward pass begins");
        for (std::size_t i = 0; i < steps.size() && broken.size() < kMostBroken; ++i) {
            if (!steps[i].runs() || !graph_.ops.contains(steps[i].op())) continue;
            if (auto what =
                    pin_.kind == PinKind::keep ? ran_again(steps[i].op()) : read_from_before(steps[i].op()))
                broken.push_back("step " + std::to_string(i) + ": " + *what);
        }
    }

  private:
    /// Says whether the pattern matches the name. `ends[i]` says whether the part of the pattern read so far
    /// matches the first i characters of the name.
    bool fits(std::string_view name) const {
        std::vector<char> ends(name.size() + 1, 0);
        ends[0] = 1;
        for (const char c : pin_.pattern) {
            std::vector<char> next(name.size() + 1, 0);
            if (c == '*') next[0] = ends[0];
            for (std::size_t i = 1; i <= name.size(); ++i) {
                next[i] = c == '*' ? ends[i] || (next[i - 1] && name[i - 1] != '.')
                                   : ends[i - 1] && name[i - 1] == c;
            }
            ends = std::move(next);
        }
        return ends.back();
    }

    /// Returns the module that contains the op and that the pattern matches: the op's module path, or a
    /// prefix of the path that ends before a dot.
    std::optional<std::string> module_of(OpId id) const {
        const std::string& path = graph_.ops[id].module;
        if (path.empty() || graph_.ops[id].phase != Phase::forward) return std::nullopt;
        for (std::size_t end = path.find('.'); true; end = path.find('.', end + 1)) {
            if (fits(path.substr(0, end))) return path.substr(0, end);
            if (end == std::string::npos) return std::nullopt;
        }
    }

    void match_op(OpId id) {
        const bool numbered = pin_.pattern == "#" + std::to_string(id.value);
        const bool in_module = module_.at(id).has_value();
        if (numbered || in_module) pinned_op(id);
        for (TensorId t : graph_.ops[id].outputs) {
            const bool named = numbered || fits(graph_.tensors[t].name);
            if (named) pinned_op(id);
            if (pin_.kind == PinKind::keep || !graph_.ops[id].recomputable) continue;
            if (graph_.ops[id].phase != Phase::forward || !loss_ || *loss_ < id) continue;
            const auto& results = graph_.results;
            const bool result = std::find(results.begin(), results.end(), t) != results.end();
            if ((named && !result) || (in_module && !leaves_.contains(t))) tensors_.insert(t);
        }
    }

    void pinned_op(OpId id) {
        matched_ = true;
        if (pin_.kind == PinKind::keep) ops_.insert(id);
    }

    /// Records the inputs of a forward or loss op that were made outside of the op's matched module. Does
    /// nothing for other ops.
    void see_what_leaves(OpId id) {
        const Op& op = graph_.ops[id];
        if (op.phase != Phase::forward && op.phase != Phase::loss) return;
        for (TensorId t : op.inputs) {
            const auto maker = maker_.find(t);
            if (maker != maker_.end() && module_.at(maker->second) != module_.at(id)) leaves_.insert(t);
        }
    }

    std::string name(OpId id) const {
        return "op " + std::to_string(id.value) + " (" + graph_.ops[id].name + ")";
    }

    std::optional<std::string> ran_again(OpId id) {
        if (!ops_.contains(id) || ran_.insert(id).second) return std::nullopt;
        return name(id) + " runs again, against the pin '" + to_string(pin_) + "'";
    }

    std::optional<std::string> read_from_before(OpId id) {
        std::optional<std::string> what;
        for (TensorId t : graph_.ops[id].inputs) {
            if (!backward_ || !tensors_.contains(t) || made_after_.contains(t)) continue;
            what = name(id) + " reads tensor " + std::to_string(t.value) + " (" + graph_.tensors[t].name +
                   ") from before the backward pass, against the pin '" + to_string(pin_) + "'";
        }
        if (backward_) made_after_.insert(graph_.ops[id].outputs.begin(), graph_.ops[id].outputs.end());
        if (loss_ == id) backward_ = true;
        return what;
    }

    const Graph& graph_;
    const Pin& pin_;
    std::map<TensorId, OpId> maker_;
    std::map<OpId, std::optional<std::string>> module_;  ///< per op: the matched module that contains it
    /// Tensors that are results, or that the forward or the loss reads outside the matched module that makes
    /// them.
    std::set<TensorId> leaves_;
    std::optional<OpId> loss_;
    bool matched_ = false;
    std::set<OpId> ops_;          ///< ops that a keep pin matches
    std::set<TensorId> tensors_;  ///< tensors that a recompute pin matches
    std::set<OpId> ran_;
    std::set<TensorId> made_after_;
    bool backward_ = false;  ///< whether the last op of the loss has run
};

}  // namespace

std::vector<std::string> broken_pins(const Graph& graph, const std::vector<Step>& steps, const Pins& pins) {
    std::vector<std::string> broken;
    for (const Pin& pin : pins) {
        if (broken.size() < kMostBroken) PinCheck(graph, pin).run(steps, broken);
    }
    return broken;
}

}  // namespace rematlas
