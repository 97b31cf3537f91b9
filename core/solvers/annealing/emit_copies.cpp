#include "core/solvers/annealing/emit_copies.h"

#include <algorithm>

namespace rematlas::annealing {

namespace {

using Node = RunProfile::Node;

class Emission {
  public:
    Emission(const CopyGraph& graph, const RunProfile& profile, const PlannedCopies& copies)
        : graph_(graph), profile_(profile), copies_(copies) {
        const std::size_t places = copies.runs().size();
        offloads_.resize(places);
        frees_.resize(places);
        fetches_.resize(places);
        drops_.resize(places);
        host_runs_.resize(places);
        goes_out_.resize(profile.aways().size());
        for (const PlannedCopies::Copy& copy : copies.out()) plan_out(copy.away);
        for (RunProfile::AwayId id = 0; id < static_cast<RunProfile::AwayId>(profile.aways().size()); ++id)
            plan_gap(id);
        for (auto copy = copies.back().rbegin(); copy != copies.back().rend(); ++copy) plan_back(copy->away);
        for (const CopyGraph::Resident& resident : graph.residents) plan_home(resident);
        for (const HostUpdates::Run& run : graph.host.runs) plan_host_run(run);
        for (const std::int32_t t : graph.host.there) homes_.on_host.push_back(TensorId(t));
        for (const std::int32_t t : graph.host.both) {
            homes_.on_host.push_back(TensorId(t));
            homes_.stays.push_back(TensorId(t));
        }
        std::sort(homes_.on_host.begin(), homes_.on_host.end());
        std::sort(homes_.stays.begin(), homes_.stays.end());
    }

    EmittedCopies run() {
        for (std::size_t place = 0; place < copies_.runs().size(); ++place) {
            for (const int t : frees_[place]) steps_.push_back(Step::free(real(t)));
            for (const int t : fetches_[place]) steps_.push_back(Step::fetch(real(t)));
            const Node run = copies_.runs()[place];
            if (run != RunProfile::kEnd && profile_.op(run) < graph_.real_ops) add_run(run);
            for (const int t : offloads_[place]) steps_.push_back(Step::offload(real(t)));
            for (const std::int32_t op : host_runs_[place]) steps_.push_back(Step::run_host(OpId(op)));
            for (const int t : drops_[place]) steps_.push_back(Step::drop(real(t)));
        }
        for (const int t : last_offloads_) steps_.push_back(Step::offload(real(t)));
        for (const int t : last_frees_) steps_.push_back(Step::free(real(t)));
        return {std::move(steps_), std::move(homes_)};
    }

  private:
    /// Says whether the tensor really leaves the device in the gap. It does if the gap is long enough for the
    /// copies.
    bool is_gone(RunProfile::AwayId id) const {
        const RunProfile::Away& away = profile_.aways()[id];
        return away.tensor >= 0 && away.first != away.behind;
    }
    TensorId real(int tensor) const { return TensorId(graph_.real[tensor]); }
    std::size_t place(Node run) const { return static_cast<std::size_t>(copies_.place(run)); }

    /// Returns the first gap in which the tensor really leaves the device; -1 if there is none.
    RunProfile::AwayId first_gap(int tensor) const {
        RunProfile::AwayId first = -1;
        for (const RunProfile::AwayId id : profile_.aways_of(tensor)) {
            if (!is_gone(id)) continue;
            if (first < 0 || place(profile_.aways()[id].use) < place(profile_.aways()[first].use)) first = id;
        }
        return first;
    }

    /// Says whether the resident lives on the host. It does if it leaves the device in some gap or is updated
    /// on the host.
    bool lives_on_host(int resident) const {
        return resident >= 0 && (graph_.is_new_there(graph_.residents[resident].first) ||
                                 first_gap(graph_.residents[resident].first) >= 0 ||
                                 first_gap(graph_.residents[resident].last) >= 0);
    }

    void plan_out(RunProfile::AwayId planned) {
        const int tensor = profile_.aways()[planned].tensor;
        RunProfile::AwayId id = first_gap(tensor);
        // A resident that lives on the host must have its last version there when the step ends. If this
        // version never leaves the device in a gap, it is copied at the end.
        const bool late = id < 0 && lives_on_host(graph_.resident[tensor]) &&
                          profile_.away_before(tensor, RunProfile::kEnd) == planned;
        if (late) id = planned;
        if (id < 0) return;
        const RunProfile::Away& away = profile_.aways()[id];
        const auto events = profile_.events(away.tensor);
        offloads_[place(events[profile_.index_of(away.tensor, away.use) - 1])].push_back(away.tensor);
        goes_out_[static_cast<std::size_t>(id)] = 1;
        if (!late) frees_[place(away.first)].push_back(away.tensor);
    }

    void plan_gap(RunProfile::AwayId id) {
        if (!is_gone(id)) return;
        const RunProfile::Away& away = profile_.aways()[id];
        const Node before = profile_.events(away.tensor)[profile_.index_of(away.tensor, away.use) - 1];
        if (!goes_out_[static_cast<std::size_t>(id)] && profile_.op(before) != graph_.home)
            frees_[place(away.first)].push_back(away.tensor);
        if (graph_.resident[away.tensor] >= 0) return;
        if (away.behind == RunProfile::kNone && !graph_.is_to_die_there(away.tensor))
            homes_.on_host.push_back(real(away.tensor));
        const auto ids = profile_.aways_of(away.tensor);
        const bool last = std::all_of(ids.begin(), ids.end(), [&](RunProfile::AwayId other) {
            return !is_gone(other) || place(profile_.aways()[other].use) <= place(away.use);
        });
        if (last && away.use != RunProfile::kEnd && !graph_.is_read_there(away.tensor))
            drops_[place(away.use)].push_back(away.tensor);
    }

    /// Plans the copies at the start and at the end of the step for a resident that lives on the host.
    void plan_home(const CopyGraph::Resident& resident) {
        if (!lives_on_host(graph_.resident[resident.first])) return;
        homes_.on_host.push_back(real(resident.first));
        const RunProfile::AwayId start =
            profile_.away_before(resident.first, profile_.events(resident.first)[1]);
        if (start < 0) fetches_.front().push_back(resident.first);
        if (graph_.is_new_there(resident.first)) return;
        const RunProfile::AwayId end = profile_.away_before(resident.last, RunProfile::kEnd);
        if (end >= 0 && is_gone(end)) return;
        const bool is_new = resident.last != resident.first && first_gap(resident.last) < 0;
        if (is_new && end < 0) last_offloads_.push_back(resident.last);
        last_frees_.push_back(resident.last);
    }

    void plan_back(RunProfile::AwayId id) {
        const RunProfile::Away& away = profile_.aways()[id];
        if (away.behind == RunProfile::kNone) return;
        if (is_gone(id)) return fetches_[place(away.behind)].push_back(away.tensor);
        // The gap is too short for its copies. If it is the gap before the first use of a resident that lives
        // on the host, the step begins with the fetch.
        const bool from_home =
            graph_.starts_on_host[away.tensor] && profile_.events(away.tensor)[1] == away.use;
        if (from_home && lives_on_host(graph_.resident[away.tensor])) fetches_.front().push_back(away.tensor);
    }

    /// Plans the start of an op on the host. The op starts when the tensors that it reads have been offloaded
    /// and the residents that it updates have had their last use on the device.
    void plan_host_run(const HostUpdates::Run& run) {
        std::size_t last = 0;
        for (const std::int32_t t : run.inputs) {
            const auto events = profile_.events(t);
            std::size_t sent = place(events[events.size() - 2]);
            const RunProfile::AwayId first = first_gap(t);
            std::vector<int>& at_last = offloads_[sent];
            if (first < 0 && std::find(at_last.begin(), at_last.end(), t) == at_last.end())
                at_last.push_back(t);
            if (first >= 0)
                sent = std::min(sent, place(events[profile_.index_of(t, profile_.aways()[first].use) - 1]));
            last = std::max(last, sent);
        }
        for (const std::int32_t t : run.updated) last = std::max(last, place(profile_.events(t).back()));
        host_runs_[last].push_back(run.op);
    }

    void add_run(Node run) {
        const int op = profile_.op(run);
        const auto pairs = graph_.flat.inplace_pairs(op);
        const bool updates = !pairs.empty() && graph_.resident[pairs.front().out] >= 0;
        const bool in_place = profile_.in_place(run) && !updates;
        steps_.push_back(in_place ? Step::run_inplace(OpId(op)) : Step::run(OpId(op)));
        for (const auto& tensors : {graph_.flat.inputs[op], graph_.flat.outputs[op]}) {
            for (const int t : tensors) {
                const auto events = profile_.events(t);
                const std::size_t next = profile_.index_of(t, run) + 1;
                if (next < events.size() && profile_.is_use(t, events[next])) continue;
                const bool taken = in_place && std::any_of(pairs.begin(), pairs.end(),
                                                           [t](const auto& pair) { return pair.in == t; });
                // The bytes of an updated resident are not freed, because they hold its next version.
                const bool goes_on = graph_.resident[t] >= 0 && !graph_.is_new_there(t);
                if (!taken && !goes_on) steps_.push_back(Step::free(TensorId(t)));
            }
        }
    }

    const CopyGraph& graph_;
    const RunProfile& profile_;
    const PlannedCopies& copies_;
    /// For each place in the sequence: the tensors that are offloaded, freed, fetched or dropped there.
    std::vector<std::vector<int>> offloads_, frees_, fetches_, drops_;
    std::vector<std::vector<std::int32_t>> host_runs_;  ///< by place: ops that start on the host
    std::vector<std::uint8_t> goes_out_;  ///< by gap: whether the tensor is offloaded before the gap
    std::vector<int> last_offloads_, last_frees_;
    std::vector<Step> steps_;
    Homes homes_;
};

}  // namespace

EmittedCopies emit(const CopyGraph& graph, const RunProfile& profile, const PlannedCopies& copies) {
    return Emission(graph, profile, copies).run();
}

}  // namespace rematlas::annealing
