#include "core/bounds/resident_traffic.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/bounds/dual_value.h"
#include "core/bounds/first_order_lp.h"
#include "core/bounds/lineage.h"
#include "core/bounds/term_programme.h"

namespace rematlas {
namespace {

constexpr int kReleaseRows = 16;  // at most this many sets of updates get a row; each set holds the updates
                                  // whose inputs are ready last

class ResidentTraffic {
  public:
    using Entries = std::vector<TermProgramme::Entry>;

    ResidentTraffic(const Graph& graph, const FlatGraph& flat, MovingResidents moving, Bytes budget)
        : graph_(graph),
          flat_(flat),
          links_(moving.links),
          budget_(budget.value),
          may_leave_(std::move(moving.may_leave)),
          lineage_(flat),
          on_device_(flat.required),
          touching_(graph.tensors.size()) {
        for (const OpId id : graph.ops.ids()) {
            const Op& op = graph.ops[id];
            if (op.host_time) on_device_[id.index()] = 0;
            if (!flat.required[id.index()]) continue;
            for (const auto* list : {&op.inputs, &op.mutates})
                for (const TensorId t : *list)
                    if (flat.producer[t.index()] < 0) touching_[t].push_back(id);
        }
    }

    /// Returns the ops with the largest footprints among the ops that must run on the device.
    std::vector<OpId> moments(int most) const {
        std::vector<std::pair<std::int64_t, OpId>> by_size;
        for (const OpId id : graph_.ops.ids())
            if (on_device_[id.index()]) by_size.emplace_back(-flat_.footprint(id.value), id);
        const auto count = std::min(by_size.size(), static_cast<std::size_t>(most));
        std::partial_sort(by_size.begin(), by_size.begin() + static_cast<std::ptrdiff_t>(count),
                          by_size.end());
        std::vector<OpId> ops;
        for (std::size_t i = 0; i < count; ++i) ops.push_back(by_size[i].second);
        return ops;
    }

    std::int64_t bound_at(OpId moment, const ResidentTrafficLimits& limits) const {
        Programme programme;
        programme.time = programme.rows.add_column(most_time());
        add_updates(programme);
        const bool is_any_out = add_residents(moment, programme);
        if (!is_any_out) return 0;
        add_times(moment, programme);
        if (programme.rows.impossible()) return 0;  // other bounds decide whether the memory suffices
        const DualValue value = solved(programme.rows.model, limits);
        return value.infeasible ? 0 : std::min(value.bound, most_time());
    }

  private:
    struct Programme {
        TermProgramme rows = {};
        Term time = kNever;
        std::vector<std::pair<OpId, Term>> on_host = {};     ///< the variables h[i]
        Entries fetched_after = {}, fetched = {}, out = {};  ///< variables, each with minus the time of its
                                                             ///< copy
    };

    std::int64_t most_time() const { return 16 * std::max<std::int64_t>(flat_.base_time, 1); }
    std::int64_t out_time(std::int32_t t) const {
        return least_copy_time(flat_.bytes[t], links_.to_host, most_time());
    }
    std::int64_t in_time(std::int32_t t) const {
        return least_copy_time(flat_.bytes[t], links_.to_device, most_time());
    }

    std::vector<std::uint8_t> descendants(OpId of) const {
        std::vector<std::uint8_t> after(static_cast<std::size_t>(flat_.op_count), 0);
        std::vector<std::int32_t> left{of.value};
        while (!left.empty()) {
            const std::int32_t op = left.back();
            left.pop_back();
            for (const std::int32_t t : flat_.outputs[op])
                for (const std::int32_t user : flat_.users[t])
                    if (!std::exchange(after[user], 1)) left.push_back(user);
        }
        return after;
    }

    void add_updates(Programme& programme) const {
        std::vector<std::uint8_t> counted(graph_.tensors.size(), 0);  // each gradient is copied out once
        for (const OpId id : graph_.ops.ids()) {
            if (!graph_.ops[id].host_time || !flat_.required[id.index()]) continue;
            const Term there = programme.rows.add_column(0);
            programme.on_host.emplace_back(id, there);
            for (const std::int32_t t : flat_.inputs[id.index()])
                if (on_device_[flat_.producer[t]] && !std::exchange(counted[t], 1))
                    programme.out.emplace_back(there, -out_time(t));
        }
    }

    /// Which ops use a resident: ops that must run on the device (after the moment, or at any time), and
    /// updates.
    struct Use {
        bool after_on_device = false, on_device = false;
        OpId update_after;  ///< an update after the moment that may run on the host
        OpId changes;       ///< the op that changes the resident
    };
    Use use_of(TensorId t, const std::vector<std::uint8_t>& after) const {
        Use use;
        for (const OpId op : touching_[t]) {
            const auto& mutated = graph_.ops[op].mutates;
            if (std::find(mutated.begin(), mutated.end(), t) != mutated.end()) use.changes = op;
            const bool here = on_device_[op.index()] != 0;
            use.on_device |= here;
            if (!after[op.index()]) continue;
            if (here)
                use.after_on_device = true;
            else
                use.update_after = op;
        }
        return use;
    }

    /// Returns false if all residents fit on the device during the moment.
    bool add_residents(OpId moment, Programme& programme) const {
        const std::vector<std::uint8_t> after = descendants(moment);
        std::vector<std::uint8_t> read(graph_.tensors.size(), 0);
        for (const auto* list : {&graph_.ops[moment].inputs, &graph_.ops[moment].mutates})
            for (const TensorId t : *list) read[t.index()] = 1;
        Entries away;
        std::vector<Term> on_host(graph_.ops.size(), kNever);
        for (const auto& [op, term] : programme.on_host) on_host[op.index()] = term;
        for (const TensorId t : graph_.tensors.ids()) {
            if (flat_.producer[t.index()] >= 0 || !may_leave_[t] || flat_.bytes[t.index()] == 0) continue;
            const Term gone = read[t.index()] ? kNever : programme.rows.add_column(0);
            away.emplace_back(gone, flat_.bytes[t.index()]);
            add_copies(t, gone, use_of(t, after), on_host, programme);
        }
        const std::int64_t beyond = flat_.resident_bytes + flat_.footprint(moment.value) - budget_;
        if (beyond <= 0) return false;
        programme.rows.add_row(beyond, away);
        return true;
    }

    void add_copies(TensorId t, Term gone, const Use& use, const std::vector<Term>& on_host,
                    Programme& programme) const {
        TermProgramme& rows = programme.rows;
        Term fetched = kNever;
        if (use.after_on_device) {
            fetched = gone;
        } else if (use.update_after.valid() && gone != kNever) {
            fetched = rows.add_column(0);
            rows.add_row(0, {{fetched, 1}, {gone, -1}, {on_host[use.update_after.index()], 1}});
        }
        if (fetched != kNever) programme.fetched_after.emplace_back(fetched, -in_time(t.value));
        const Term there = use.changes.valid() ? on_host[use.changes.index()] : kNever;
        if (use.on_device && there != kNever) {
            const Term at_all = rows.add_column(0);
            rows.add_row(0, {{at_all, 1}, {there, -1}});
            if (fetched != kNever) rows.add_row(0, {{at_all, 1}, {fetched, -1}});
            programme.fetched.emplace_back(at_all, -in_time(t.value));
        } else if (fetched != kNever) {
            programme.fetched.emplace_back(fetched, -in_time(t.value));
        }
        if (!use.changes.valid() || gone == kNever) return;
        Term out = gone;
        if (there != kNever) {
            out = rows.add_column(0);
            rows.add_row(0, {{out, 1}, {gone, -1}, {there, 1}});
        }
        programme.out.emplace_back(out, -out_time(t.value));
    }

    /// Adds the row T >= least - (sum of `entries`). So entries with negative factors raise T.
    void add_time(Programme& programme, std::int64_t least, Entries entries) const {
        entries.emplace_back(programme.time, most_time());
        programme.rows.add_row(least, entries);
    }

    void add_times(OpId moment, Programme& programme) const {
        std::int64_t required = 0;
        for (int op = 0; op < flat_.op_count; ++op) required += flat_.required[op] ? flat_.time[op] : 0;
        Entries here;
        for (const auto& [op, term] : programme.on_host) here.emplace_back(term, flat_.time[op.index()]);
        add_time(programme, required, std::move(here));
        add_time(programme, lineage_.time_until(moment.value, on_device_), programme.fetched_after);
        add_time(programme, 0, programme.fetched);
        add_time(programme, 0, programme.out);
        add_host_times(programme);
    }

    void add_host_times(Programme& programme) const {
        struct Release {
            std::int64_t ready, time;
            Term term;
        };
        std::vector<Release> updates;
        for (const auto& [op, term] : programme.on_host) {
            std::int64_t ready = 0;
            for (const std::int32_t t : flat_.inputs[op.index()])
                ready = std::max(ready, lineage_.time_until(flat_.producer[t], on_device_));
            updates.push_back({ready, graph_.ops[op].host_time->value, term});
        }
        std::sort(updates.begin(), updates.end(),
                  [](const Release& a, const Release& b) { return a.ready > b.ready; });
        Entries entries;
        for (std::size_t i = 0; i < updates.size(); ++i) {
            entries.emplace_back(updates[i].term, -updates[i].time);
            const std::size_t part = (i + 1) * kReleaseRows / updates.size();
            if (part > i * kReleaseRows / updates.size() || i + 1 == updates.size())
                add_time(programme, updates[i].ready, entries);
        }
    }

    static DualValue solved(const MilpModel& model, const ResidentTrafficLimits& limits) {
        if (milp_libraries().empty())
            return solve_relaxation(model, {.stop = [&] { return limits.stop.stop_requested(); }}).value;
        const Result<MilpAnswer> answer = solve_milp(
            milp_libraries().front(), model, {.time = limits.time, .stop = limits.stop, .relaxed = true});
        const bool is_solved = answer && answer->multipliers.size() == model.rows();
        return dual_value(model, is_solved ? answer->multipliers : std::vector<double>(model.rows()));
    }

    const Graph& graph_;
    const FlatGraph& flat_;
    const HostLinks links_;
    const std::int64_t budget_;
    const IdVector<TensorId, char> may_leave_;
    const Lineage lineage_;
    std::vector<std::uint8_t> on_device_;  ///< per op: whether it must run, and only on the device
    IdVector<TensorId, std::vector<OpId>>
        touching_;  ///< per resident: the required ops that read or update it
};

}  // namespace

std::int64_t resident_traffic(const Graph& graph, const FlatGraph& flat, MovingResidents moving, Bytes budget,
                              const ResidentTrafficLimits& limits) {
    const ResidentTraffic traffic(graph, flat, std::move(moving), budget);
    const auto end = std::chrono::steady_clock::now() + limits.time;
    std::int64_t best = 0;
    for (const OpId moment : traffic.moments(limits.moments)) {
        if (limits.stop.stop_requested() || std::chrono::steady_clock::now() >= end) break;
        best = std::max(best, traffic.bound_at(moment, limits));
    }
    return best;
}

}  // namespace rematlas
