#include "core/pins/pinned_ops.h"

#include <algorithm>
#include <map>
#include <optional>

#include "core/base/numbers.h"

namespace rematlas {
namespace {

/// Returns the prefix of a module's path that the pattern matches; the prefix ends before a dot or is the
/// whole path. Empty if the pattern matches none.
std::string_view matched_module(std::string_view pattern, std::string_view path) {
    const auto dots = std::count(pattern.begin(), pattern.end(), '.');
    std::size_t end = 0;
    for (auto part = dots; part >= 0; --part) {
        if (end >= path.size()) return {};
        end = std::min(path.find('.', end + (end > 0)), path.size());
    }
    const std::string_view prefix = path.substr(0, end);
    return matches_pattern(pattern, prefix) ? prefix : std::string_view();
}

std::optional<OpId> numbered_op(std::string_view pattern) {
    if (pattern.size() < 2 || pattern.front() != '#') return std::nullopt;
    const auto id = number_from<std::int32_t>(pattern.substr(1));
    return id && *id >= 0 ? std::optional(OpId(*id)) : std::nullopt;
}

/// The ops and tensors that one pin matches.
struct Match {
    bool any = false;               ///< the pattern matches something that the pin can affect
    std::vector<OpId> ops;          ///< ops that a keep pin matches, or makers of `tensors`; ascending
    std::vector<TensorId> tensors;  ///< tensors that a recompute pin matches
    bool is_result = false;         ///< a tensor was left out because it is a result of the step
    bool is_late = false;           ///< a tensor was left out because the forward pass does not make it
    TensorId resident;              ///< a tensor that the pattern matches and that no op makes
};

class Matching {
  public:
    explicit Matching(const Graph& graph)
        : graph_(graph),
          maker_(producers(graph)),
          loss_(last_loss_op(graph)),
          is_result_(graph.tensors.size(), 0) {
        for (TensorId t : graph.results) is_result_[t] = 1;
    }

    Match of(const Pin& pin) const {
        Match match;
        if (const auto id = numbered_op(pin.pattern)) {
            if (graph_.ops.contains(*id)) pin_op(pin.kind, *id, match);
        } else {
            match_modules(pin, match);
            for (TensorId t : graph_.tensors.ids()) {
                if (!matches_pattern(pin.pattern, graph_.tensors[t].name)) continue;
                if (maker_[t].valid())
                    pin_tensor(pin.kind, t, match);
                else
                    match.resident = t;
            }
        }
        for (TensorId t : match.tensors) match.ops.push_back(maker_[t]);
        std::sort(match.ops.begin(), match.ops.end());
        match.ops.erase(std::unique(match.ops.begin(), match.ops.end()), match.ops.end());
        return match;
    }

    OpId loss() const { return loss_; }

    /// Returns, for each tensor that `again` marks, whether the backward needs it: directly, or to make
    /// another marked tensor again.
    IdVector<TensorId, std::uint8_t> needed(const IdVector<TensorId, std::uint8_t>& again) const {
        IdVector<TensorId, std::uint8_t> needed(graph_.tensors.size(), 0);
        for (auto id = static_cast<std::int32_t>(graph_.ops.size()) - 1; id >= 0; --id) {
            const Op& op = graph_.ops[OpId(id)];
            const bool reads = OpId(id) > loss_ || std::any_of(op.outputs.begin(), op.outputs.end(),
                                                               [&](TensorId t) { return needed[t] != 0; });
            if (!reads) continue;
            for (TensorId t : op.inputs) needed[t] = again[t];
        }
        return needed;
    }

  private:
    bool in_forward_pass(OpId op) const { return graph_.ops[op].phase == Phase::forward && op < loss_; }

    void pin_tensor(PinKind kind, TensorId t, Match& match) const {
        if (kind == PinKind::recompute && !in_forward_pass(maker_[t])) {
            match.is_late = true;
        } else if (kind == PinKind::recompute && is_result_[t]) {
            match.is_result = true;
        } else {
            match.any = true;
            if (kind == PinKind::keep) match.ops.push_back(maker_[t]);
            if (kind == PinKind::recompute) match.tensors.push_back(t);
        }
    }
    void pin_op(PinKind kind, OpId op, Match& match) const {
        if (kind == PinKind::keep) {
            match.any = true;
            match.ops.push_back(op);
        } else {
            for (TensorId t : graph_.ops[op].outputs) pin_tensor(kind, t, match);
        }
    }

    void match_modules(const Pin& pin, Match& match) const {
        IdVector<OpId, std::string_view> module_of(graph_.ops.size());
        for (OpId op : graph_.ops.ids()) {
            if (graph_.ops[op].phase != Phase::forward) continue;
            module_of[op] = matched_module(pin.pattern, graph_.ops[op].module);
            if (module_of[op].empty()) continue;
            match.any = true;
            if (pin.kind == PinKind::keep) match.ops.push_back(op);
        }
        if (pin.kind == PinKind::keep) return;
        IdVector<TensorId, std::uint8_t> leaves = is_result_;
        for (OpId op : graph_.ops.ids()) {
            if (graph_.ops[op].phase != Phase::forward && graph_.ops[op].phase != Phase::loss) continue;
            for (TensorId t : graph_.ops[op].inputs) {
                if (maker_[t].valid() && module_of[maker_[t]] != module_of[op]) leaves[t] = 1;
            }
        }
        for (TensorId t : graph_.tensors.ids()) {
            if (!maker_[t].valid() || module_of[maker_[t]].empty()) continue;
            if (!leaves[t] && in_forward_pass(maker_[t])) match.tensors.push_back(t);
        }
    }

    const Graph& graph_;
    IdVector<TensorId, OpId> maker_;
    OpId loss_;
    IdVector<TensorId, std::uint8_t> is_result_;
};

std::string name_of(const Graph& graph, OpId id) {
    const Op& op = graph.ops[id];
    return "op " + std::to_string(id.value) + " (" + op.name + (op.module.empty() ? "" : " " + op.module) +
           ")";
}

Error pin_error(const Pin& pin, const std::string& what) {
    return Error{"pin '" + to_string(pin) + "' " + what};
}

Error resident_error(const Graph& graph, const Pin& pin, TensorId id) {
    const Tensor& tensor = graph.tensors[id];
    return pin_error(pin,
                     "names " + tensor.name + ", of kind " + std::string(to_string(tensor.kind)) +
                         ", which no op of the step makes: it stays in memory all the time, and no pin can "
                         "change that");
}

Result<Match> match_of(const Graph& graph, const Matching& matching, const Pin& pin) {
    if (pin.kind == PinKind::recompute && !matching.loss().valid())
        return pin_error(pin, "needs a graph with a loss, after which the backward pass begins");
    Match match = matching.of(pin);
    if (match.any) return match;
    if (match.is_result) return pin_error(pin, "is about a result of the step, which is held to its end");
    if (match.is_late) return pin_error(pin, "matches nothing that the forward pass makes");
    if (match.resident.valid()) return resident_error(graph, pin, match.resident);
    return pin_error(pin, "matches no module, tensor or op");
}

/// Returns why every schedule obeys the pin; empty if some schedules do not.
std::string why_idle(const Graph& graph, const Pin& pin, const Match& match,
                     const IdVector<TensorId, std::uint8_t>& needed) {
    const auto runs_once = [&](OpId op) { return !graph.ops[op].recomputable; };
    if (pin.kind == PinKind::keep)
        return std::all_of(match.ops.begin(), match.ops.end(), runs_once)
                   ? "what it matches may run only once, so it is kept anyway"
                   : "";
    if (match.tensors.empty())
        return "all that is made there is read outside of it, which stays the solver's decision; name the "
               "module "
               "around it, or the tensor itself";
    if (std::none_of(match.tensors.begin(), match.tensors.end(), [&](TensorId t) { return needed[t] != 0; }))
        return "the backward pass reads nothing of it";
    const auto takes_none = [&](TensorId t) { return !needed[t] || graph.tensors[t].bytes.value == 0; };
    return std::all_of(match.tensors.begin(), match.tensors.end(), takes_none)
               ? "what it makes takes no memory"
               : "";
}

/// Records the idle pins (see IdlePin). Fails if a pin would need a second run of an op that may run only
/// once.
Result<void> look_at_needs(const Graph& graph, const Matching& matching, const Pins& pins,
                           const std::vector<Match>& matches, PinnedOps& pinned) {
    const auto needed = matching.needed(pinned.made_again);
    for (std::size_t i = 0; i < pins.size(); ++i) {
        if (const std::string why = why_idle(graph, pins[i], matches[i], needed); !why.empty())
            pinned.idle.push_back({i, pin_error(pins[i], "asks for nothing: " + why).message});
    }
    const auto maker = producers(graph);
    for (std::size_t i = 0; i < pins.size(); ++i) {
        for (TensorId t : matches[i].tensors) {
            if (graph.ops[maker[t]].recomputable) continue;
            if (needed[t])
                return pin_error(
                    pins[i], "asks to run " + name_of(graph, maker[t]) + " again, which may run only once");
            pinned.made_again[t] = 0;
        }
    }
    return {};
}

}  // namespace

bool matches_pattern(std::string_view pattern, std::string_view name) {
    std::size_t p = 0, n = 0, star = std::string_view::npos, from = 0;
    while (n < name.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            from = n;
        } else if (p < pattern.size() && pattern[p] == name[n]) {
            ++p;
            ++n;
        } else if (star != std::string_view::npos && name[from] != '.') {
            p = star + 1;
            n = ++from;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
}

OpId last_loss_op(const Graph& graph) {
    OpId last;
    for (OpId op : graph.ops.ids()) {
        if (graph.ops[op].phase == Phase::loss) last = op;
    }
    return last;
}

Result<PinnedOps> pinned_ops(const Graph& graph, const Pins& pins) {
    const Matching matching(graph);
    PinnedOps pinned{.keep = IdVector<OpId, std::uint8_t>(graph.ops.size(), 0),
                     .made_again = IdVector<TensorId, std::uint8_t>(graph.tensors.size(), 0),
                     .loss = matching.loss(),
                     .idle = {}};
    std::vector<Match> matches;
    std::map<OpId, const Pin*> pin_of_op;
    for (const Pin& pin : pins) {
        Result<Match> match = match_of(graph, matching, pin);
        if (!match) return match.error();
        for (OpId op : match->ops) {
            const Pin* before = pin_of_op.emplace(op, &pin).first->second;
            if (before->kind != pin.kind)
                return Error{"pins '" + to_string(*before) + "' and '" + to_string(pin) +
                             "' contradict each other at " + name_of(graph, op)};
            if (pin.kind == PinKind::keep) pinned.keep[op] = 1;
        }
        for (TensorId t : match->tensors) pinned.made_again[t] = 1;
        matches.push_back(match.take());
    }
    if (Result<void> can = look_at_needs(graph, matching, pins, matches, pinned); !can) return can.error();
    return pinned;
}

Result<std::vector<OpId>> ops_of_pin(const Graph& graph, const Pin& pin) {
    Result<Match> match = match_of(graph, Matching(graph), pin);
    if (!match) return match.error();
    return std::move(match->ops);
}

}  // namespace rematlas
