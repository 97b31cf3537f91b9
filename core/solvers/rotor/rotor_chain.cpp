#include "core/solvers/rotor/rotor_chain.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace rematlas {
namespace {

using OpList = std::vector<std::int32_t>;

class ChainReader {
  public:
    ChainReader(const Problem& problem, int max_stages)
        : flat_(problem.flat),
          graph_(problem.graph),
          max_stages_(max_stages),
          position_(flat_.op_count, -1),
          stage_(flat_.op_count, 0),
          permanent_(flat_.tensor_count, 0),
          kept_(flat_.tensor_count, 0),
          wanted_(flat_.tensor_count, 0),
          last_use_(flat_.tensor_count, -1) {}

    RotorChain read() {
        find_forward_part();
        const std::vector<int> cuts = choose_cuts();
        if (cuts.empty()) return {};
        assign_forward(cuts);
        assign_backward();
        for (RotorStage& stage : chain_.stages) measure_forward(stage);
        measure_gradients();
        for (RotorStage& stage : chain_.stages) measure_backward(stage);
        chain_.always = flat_.resident_bytes;
        for (int t = 0; t < flat_.tensor_count; ++t) chain_.always += permanent_[t] ? flat_.bytes[t] : 0;
        return std::move(chain_);
    }

  private:
    /// Finds the required ops of phase forward that read nothing from the backward part.
    void find_forward_part() {
        for (int op = 0; op < flat_.op_count; ++op) {
            if (!flat_.required[op] || graph_.ops[OpId(op)].phase != Phase::forward) continue;
            const auto inputs = flat_.inputs[op];
            if (!std::all_of(inputs.begin(), inputs.end(), [&](int t) { return is_forward(t); })) continue;
            position_[op] = static_cast<int>(forward_.size());
            forward_.push_back(op);
            for (int t : flat_.outputs[op]) permanent_[t] = flat_.is_result[t] || !flat_.recomputable[op];
        }
    }

    bool is_forward(int tensor) const { return position_[flat_.producer[tensor]] >= 0; }
    std::int64_t bytes(int tensor) const { return permanent_[tensor] ? 0 : flat_.bytes[tensor]; }

    /// Finds the articulation points: cuts where the forward part after the cut reads at most one tensor from
    /// before it. Permanent tensors do not count, because they always exist. If the same tensor crosses
    /// several cuts, only the first of these is returned: the ops between them make no tensor of the chain,
    /// so they join the next stage.
    std::vector<int> choose_cuts() {
        const int n = static_cast<int>(forward_.size());
        std::vector<int> crossing(n + 1, 0);
        std::vector<std::int64_t> sum(
            n + 1, 0);  // changes of the sum of crossing tensors' ids; if only one tensor crosses, the sum is
                        // its id
        for (int op : forward_) {
            for (int t : flat_.outputs[op]) {
                int last = position_[op];
                for (int user : flat_.users[t]) last = std::max(last, position_[user]);
                if (permanent_[t] || last == position_[op]) continue;
                ++crossing[position_[op]];
                --crossing[last];
                sum[position_[op]] += t;
                sum[last] -= t;
            }
        }
        std::vector<int> cuts;
        std::vector<std::int64_t> made{0};  // bytes made by the forward part between cuts
        std::int64_t tensor = 0, boundary = -1;
        for (int i = 0, count = 0; i < n; ++i) {
            count += crossing[i];
            tensor += sum[i];
            for (int t : flat_.outputs[forward_[i]]) made.back() += flat_.bytes[t];
            if (count > 1 || i + 1 == n || (count == 1 && tensor == boundary)) continue;
            boundary = count == 1 ? tensor : -1;
            cuts.push_back(i);
            made.push_back(0);
        }
        return merged(std::move(cuts), std::move(made));
    }

    /// While there are too many stages, removes the cut between the two neighbours that make the fewest
    /// bytes.
    std::vector<int> merged(std::vector<int> cuts, std::vector<std::int64_t> made) const {
        while (static_cast<int>(cuts.size()) >
               std::max(4000, 2 * max_stages_)) {  // too many for the search below
            for (std::size_t i = 0; 2 * i + 1 < cuts.size(); ++i) {
                cuts[i] = cuts[2 * i + 1];
                made[i] = made[2 * i] + made[2 * i + 1];
            }
            const std::size_t kept = cuts.size() / 2;
            const std::int64_t rest = std::accumulate(made.begin() + static_cast<std::ptrdiff_t>(2 * kept),
                                                      made.end(), std::int64_t{0});
            cuts.resize(kept);
            made.resize(kept);
            made.push_back(rest);
        }
        while (static_cast<int>(cuts.size()) + 1 > max_stages_) {
            std::size_t least = 0;
            for (std::size_t i = 1; i < cuts.size(); ++i) {
                if (made[i] + made[i + 1] < made[least] + made[least + 1]) least = i;
            }
            made[least] += made[least + 1];
            made.erase(made.begin() + static_cast<std::ptrdiff_t>(least) + 1);
            cuts.erase(cuts.begin() + static_cast<std::ptrdiff_t>(least));
        }
        return cuts;
    }

    void assign_forward(const std::vector<int>& cuts) {
        chain_.stages.resize(cuts.size() + 1);
        for (RotorStage& stage : chain_.stages) stage.ways.resize(1);
        members_.resize(cuts.size() + 1);
        boundary_.assign(cuts.size() + 1, -1);
        std::size_t stage = 0;
        for (int op : forward_) {
            stage_[op] = static_cast<int>(stage) + 1;
            members_[stage].push_back(op);
            if (stage < cuts.size() && cuts[stage] == position_[op]) ++stage;
        }
        for (int op : forward_) {
            for (int t : flat_.outputs[op]) {
                if (permanent_[t]) continue;
                for (int user : flat_.users[t]) {
                    if (position_[user] >= 0 && stage_[user] > stage_[op]) boundary_[stage_[op] - 1] = t;
                }
            }
        }
    }

    bool is_boundary(int tensor) const { return boundary_[stage_[flat_.producer[tensor]] - 1] == tensor; }

    /// Assigns each backward op to a stage that has everything that the op reads: tensors of the stage and
    /// the boundary before the stage. If there is no such stage, the op joins the highest stage whose tensors
    /// it reads. An op never joins a stage above the stages of the backward ops that it depends on.
    void assign_backward() {
        const int n = static_cast<int>(chain_.stages.size());
        for (int op = 0; op < flat_.op_count; ++op) {
            if (!flat_.required[op] || position_[op] >= 0) continue;
            int allowed = n, least = 0, most = n;
            for (int t : flat_.inputs[op]) {
                const int made = stage_[flat_.producer[t]];
                if (!is_forward(t)) {
                    allowed = std::min(allowed, made);
                } else if (!permanent_[t]) {
                    least = std::max(least, made);
                    most = std::min(most, is_boundary(t) ? made + 1 : made);
                }
            }
            stage_[op] = least == 0 ? allowed : std::min(allowed, std::max(least, most));
            chain_.stages[stage_[op] - 1].ways.front().backward.push_back(op);
            for (int t : flat_.inputs[op]) {
                if (is_forward(t)) note_saved(t, stage_[op]);
            }
        }
    }

    /// Notes that a backward group reads a tensor. A tensor of the group's own stage is marked as saved. The
    /// input of the group's stage needs no mark, because it is a boundary. Any other tensor is marked as
    /// permanent: it must stay during the whole step.
    void note_saved(int tensor, int group) {
        if (stage_[flat_.producer[tensor]] == group) {
            kept_[tensor] = 1;
        } else if (group < 2 || boundary_[group - 2] != tensor) {
            permanent_[tensor] = 1;
        }
    }

    /// Returns, in order, the ops of the stage that are needed to make the tensors marked in `wanted_`. Ops
    /// that may run only once, and makers of permanent tensors only, are left out. Clears the marks.
    OpList makers(const OpList& members) {
        OpList list;
        for (std::size_t i = members.size(); i-- > 0;) {
            const int op = members[i];
            const auto outputs = flat_.outputs[op];
            const bool needed = std::any_of(outputs.begin(), outputs.end(),
                                            [&](int t) { return wanted_[t] && !permanent_[t]; });
            for (int t : outputs) wanted_[t] = 0;
            if (!needed || !flat_.recomputable[op]) continue;
            list.push_back(op);
            for (int t : flat_.inputs[op]) wanted_[t] = stage_[flat_.producer[t]] == stage_[op];
        }
        std::reverse(list.begin(), list.end());
        return list;
    }

    /// Returns the ops of a stage that its first forward run must include (`RotorStage::first`): ops that may
    /// run only once or mutate tensors, makers of permanent tensors, and the ops that these need.
    OpList first_visit(const OpList& members) {
        std::vector<std::uint8_t>& needed = wanted_;
        OpList list;
        for (std::size_t i = members.size(); i-- > 0;) {
            const int op = members[i];
            const auto outputs = flat_.outputs[op];
            bool runs = !flat_.recomputable[op] || !graph_.ops[OpId(op)].mutates.empty();
            for (int t : outputs) runs = runs || permanent_[t] || needed[t];
            for (int t : outputs) needed[t] = 0;
            if (!runs) continue;
            list.push_back(op);
            for (int t : flat_.inputs[op]) needed[t] = stage_[flat_.producer[t]] == stage_[op];
        }
        std::reverse(list.begin(), list.end());
        return list;
    }

    void want_saved(const OpList& members) {
        for (int op : members) {
            for (int t : flat_.outputs[op]) wanted_[t] = wanted_[t] || kept_[t];
        }
    }

    void measure_forward(RotorStage& stage) {
        const std::size_t i = static_cast<std::size_t>(&stage - chain_.stages.data());
        const OpList& members = members_[i];
        const int boundary = boundary_[i];
        RotorWay& way = stage.ways.front();
        if (boundary >= 0) wanted_[boundary] = 1;
        stage.advance = makers(members);
        if (boundary >= 0) wanted_[boundary] = 1;
        want_saved(members);
        way.save = makers(members);
        want_saved(members);
        way.save_last = makers(members);
        want_saved(members);
        if (boundary >= 0) wanted_[boundary] = 0;
        way.save_beside = makers(members);
        stage.first = first_visit(members);
        stage.boundary = boundary >= 0 ? bytes(boundary) : 0;
        way.saved = stage.boundary;
        for (int op : members) {
            for (int t : flat_.outputs[op]) way.saved += kept_[t] && t != boundary ? bytes(t) : 0;
        }
        for (int op : stage.advance) stage.advance_time += flat_.time[op];
        for (int op : way.save) way.save_time += flat_.time[op];
        for (int op : way.save_last) way.save_last_time += flat_.time[op];
        for (int op : way.save_beside) way.save_beside_time += flat_.time[op];
        const int input = i == 0 ? -1 : boundary_[i - 1];
        const OpList advance = merge(stage.advance, stage.first), save = merge(way.save, stage.first);
        stage.advance_peak = forward_peak(advance, input, false, boundary, false);
        stage.advance_peak_with_input = forward_peak(advance, input, true, boundary, false);
        way.save_peak = forward_peak(save, input, false, boundary, true);
        way.save_beside_peak = forward_peak(way.save_beside, input, false, boundary, true);
    }

    static OpList merge(const OpList& a, const OpList& b) {
        OpList all;
        std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all));
        return all;
    }

    /// Returns the peak of running `ops`. Afterwards the tensor `boundary` is kept. If `save` is true, the
    /// tensors that the backward group reads are kept, too.
    std::int64_t forward_peak(const OpList& ops, int input, bool count_input, int boundary, bool save) {
        for (int op : ops) {
            for (int t : flat_.outputs[op]) last_use_[t] = -1;
            for (int t : flat_.inputs[op]) last_use_[t] = op;
        }
        std::int64_t alive = count_input && input >= 0 ? bytes(input) : 0;
        std::int64_t peak = alive;
        const auto stays = [&](int t) { return t == boundary || (save && kept_[t]); };
        for (int op : ops) {
            std::int64_t made = 0, unread = 0;
            for (int t : flat_.outputs[op]) {
                made += bytes(t);
                if (last_use_[t] < 0 && !stays(t)) unread += bytes(t);
            }
            peak = std::max(peak, alive + made + flat_.workspace[op]);
            alive += made - unread;
            for (int t : flat_.inputs[op]) {
                const bool mine = t == input ? count_input && t != boundary
                                             : !stays(t) && stage_[flat_.producer[t]] == stage_[op];
                if (mine && last_use_[t] == op) alive -= bytes(t);
            }
        }
        return peak;
    }

    /// Computes `gradients` of each stage. A tensor made by group g and last read by group r (0 for results)
    /// exists when each of the groups r .. g-1 starts.
    void measure_gradients() {
        std::vector<std::int64_t> change(chain_.stages.size() + 2, 0);
        for (int t = 0; t < flat_.tensor_count; ++t) {
            const int maker = flat_.producer[t];
            if (maker < 0 || is_forward(t) || !flat_.required[maker]) continue;
            int last = flat_.is_result[t] ? 0 : stage_[maker];
            for (int user : flat_.users[t]) {
                if (flat_.required[user]) last = std::min(last, stage_[user]);
            }
            if (last == 0) chain_.stages[stage_[maker] - 1].left += flat_.bytes[t];
            if (last == 0) continue;
            change[last] += flat_.bytes[t];
            change[stage_[maker]] -= flat_.bytes[t];
        }
        std::int64_t there = 0;
        for (std::size_t i = 0; i < chain_.stages.size(); ++i) {
            there += change[i + 1];
            chain_.stages[i].gradients = there;
        }
    }

    void measure_backward(RotorStage& stage) {
        const int group = static_cast<int>(&stage - chain_.stages.data()) + 1;
        RotorWay& way = stage.ways.front();
        for (int op : way.backward) {
            way.backward_time += flat_.time[op];
            for (int t : flat_.outputs[op]) last_use_[t] = -1;
            for (int t : flat_.inputs[op]) last_use_[t] = op;
        }
        std::int64_t alive = stage.gradients;
        for (int op : members_[group - 1]) {
            for (int t : flat_.outputs[op]) alive += kept_[t] ? bytes(t) : 0;
        }
        way.backward_peak = alive;
        for (int op : way.backward) {
            std::int64_t made = 0, unread = 0;
            for (int t : flat_.outputs[op]) {
                made += flat_.bytes[t];
                if (last_use_[t] < 0 && !read_below(t, group)) unread += flat_.bytes[t];
            }
            way.backward_peak = std::max(way.backward_peak, alive + made + flat_.workspace[op]);
            alive += made - unread;
            for (int t : flat_.inputs[op]) {
                if (last_use_[t] == op && !read_below(t, group) && counted_in(t, group)) alive -= bytes(t);
            }
        }
    }

    bool read_below(int tensor, int group) const {
        if (flat_.is_result[tensor]) return true;
        const auto users = flat_.users[tensor];
        return std::any_of(users.begin(), users.end(), [&](int user) {
            return flat_.required[user] && position_[user] < 0 && stage_[user] < group;
        });
    }

    bool counted_in(int tensor, int group) const {
        return !is_forward(tensor) || (kept_[tensor] && stage_[flat_.producer[tensor]] == group);
    }

    const FlatGraph& flat_;
    const Graph& graph_;
    int max_stages_;
    OpList forward_;
    std::vector<int> position_;            ///< per op: its index in `forward_`; -1 for other ops
    std::vector<int> stage_;               ///< per op: its stage, or the group of a backward op; from 1
    std::vector<OpList> members_;          ///< per stage: its forward ops
    std::vector<int> boundary_;            ///< per stage: the tensor that crosses its end; -1 if none does
    std::vector<std::uint8_t> permanent_;  ///< per tensor: whether it is counted during the whole step
    std::vector<std::uint8_t> kept_;       ///< per tensor: whether the group of its own stage reads it
    std::vector<std::uint8_t> wanted_;
    std::vector<int> last_use_;
    RotorChain chain_;
};

}  // namespace

void ChainRuns::forward(int stage, const std::vector<std::int32_t>& ops) {
    const auto& first = chain_.stages[stage].first;
    if (visited_[stage] || first.empty()) {
        runs_.insert(runs_.end(), ops.begin(), ops.end());
        return;
    }
    visited_[stage] = true;
    std::set_union(ops.begin(), ops.end(), first.begin(), first.end(), std::back_inserter(runs_));
}

void ChainRuns::backward(int stage, std::size_t way) {
    const auto& ops = chain_.stages[stage].ways[way].backward;
    runs_.insert(runs_.end(), ops.begin(), ops.end());
}

RotorChain rotor_chain(const Problem& problem, int max_stages) {
    return ChainReader(problem, std::max(max_stages, 1)).read();
}

Infeasible no_chain(Infeasible answer) {
    answer.reason = "the graph is no chain: its forward part has no articulation point to cut it at";
    return answer;
}

}  // namespace rematlas
