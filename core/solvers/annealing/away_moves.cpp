#include "core/solvers/annealing/away_moves.h"

#include <algorithm>

namespace rematlas::annealing {

namespace {

constexpr int kMostTensorSamples = 60;  // most tries to find tensors that are kept but not used during a run
constexpr int kMostAwaySamples = 16;    // most tries to find the id of a gap in which a tensor is away
constexpr int kMostSent = 4;            // most tensors that one compound move offloads
constexpr std::int64_t kMostWaits = 1000;  // a run is not delayed by more than this many of the longest waits
// One in this many moves changes all equal blocks at once. Such moves are slow, so they are rare.
constexpr std::size_t kMovesATwin = 300;

}  // namespace

AwayMoves::AwayMoves(const CopyGraph& graph, RunProfile& profile, PlannedCopies& copies, Random& random,
                     const Repeats* repeats)
    : graph_(graph),
      profile_(profile),
      copies_(copies),
      random_(random),
      repeats_(repeats && !repeats->alike.empty() ? repeats : nullptr),
      moves_(graph.flat, profile, random, nullptr, graph.home) {
    for (int t = 0; t < graph.flat.tensor_count; ++t)
        if (graph.may_leave[t]) leaving_.push_back(t);
}

bool AwayMoves::propose(const Acceptance& acceptance) {
    if (repeats_ && random_.below(kMovesATwin) == 0) return send_away_in_equal_blocks();
    return profile_.excess() > 0 ? propose_repair(acceptance) : propose_improvement(acceptance);
}

bool AwayMoves::propose_repair(const Acceptance& acceptance) {
    const double draw = random_.unit();
    if (draw < 0.30) return send_away_over();
    if (draw < 0.34) return wait_for_copies();
    if (draw < 0.36) return wait();
    if (draw < 0.41) return wait_less();
    if (draw < 0.46) return keep_here();
    if (draw < 0.54) return rerun_to_away();
    if (draw < 0.58) return away_to_rerun();
    return moves_.propose(acceptance);
}

bool AwayMoves::propose_improvement(const Acceptance& acceptance) {
    const double draw = random_.unit();
    if (draw < 0.25) return rerun_to_away();
    if (draw < 0.35) {
        if (!rerun_to_away()) return false;
        for (int sent = 1 + random_.below(kMostSent); sent > 0; --sent) rerun_to_away();
        return true;
    }
    if (draw < 0.47) return wait_less();
    if (draw < 0.57) return keep_here();
    if (draw < 0.63) return away_to_rerun() && rerun_to_away();
    return moves_.propose(acceptance);
}

AwayMoves::Node AwayMoves::over_run() {
    const int over = profile_.over_count();
    return over == 0 ? RunProfile::kNone : profile_.over_run(random_.below(static_cast<std::size_t>(over)));
}

// Samples gaps (times between two events of a tensor) that contain the run and in which the tensor is on the
// device. Returns the gap with the largest bytes * length.
std::optional<AwayMoves::Gap> AwayMoves::gap_across(Node run) {
    if (leaving_.empty()) return std::nullopt;
    std::optional<Gap> best;
    double best_score = 0;
    int wanted = random_.below(3) == 0 ? 1 : 2 + random_.below(6);
    for (int tries = 0; tries < kMostTensorSamples && wanted > 0; ++tries) {
        const int t = leaving_[random_.below(leaving_.size())];
        const auto events = profile_.events(t);
        const std::size_t at = profile_.first_at_or_after(t, run);
        if (at == 0 || at == events.size() || events[at] == run || !profile_.is_use(t, events[at]) ||
            profile_.away_before(t, events[at]) >= 0)
            continue;
        --wanted;
        const auto idle = static_cast<double>(copies_.clock(events[at]) - copies_.clock(events[at - 1]));
        const double score = idle * static_cast<double>(graph_.flat.bytes[t]);
        if (best && score <= best_score) continue;
        best = {t, events[at]};
        best_score = score;
    }
    return best;
}

bool AwayMoves::send_away_over() {
    const Node run = over_run();
    if (run == RunProfile::kNone) return false;
    const std::optional<Gap> gap = gap_across(run);
    if (gap) send(*gap);
    return gap.has_value();
}

// Offloads the tensor in the gap. A resident that is offloaded in any gap lives on the host. So the function
// also marks such a resident as away before its first use and at the end of the step.
RunProfile::AwayId AwayMoves::send(Gap gap) {
    const auto send_once = [&](int tensor, Node use) {
        const RunProfile::AwayId away = profile_.away_before(tensor, use);
        return away >= 0 ? away : profile_.set_away(tensor, use);
    };
    if (graph_.resident[gap.tensor] >= 0) {
        const CopyGraph::Resident& resident = graph_.residents[graph_.resident[gap.tensor]];
        send_once(resident.first, profile_.events(resident.first)[1]);
        if (!graph_.is_new_there(resident.first)) send_once(resident.last, RunProfile::kEnd);
    }
    return send_once(gap.tensor, gap.use);
}

bool AwayMoves::send_away_in_equal_blocks() {
    const auto reruns = profile_.repeated();
    const Node run = profile_.over_count() > 0 ? over_run()
                     : reruns.empty()          ? RunProfile::kNone
                                               : reruns[random_.below(reruns.size())];
    if (run == RunProfile::kNone) return false;
    const std::optional<Gap> gap = gap_across(run);
    if (!gap || gap->use == RunProfile::kEnd) return false;
    const int user = profile_.op(gap->use);
    if (user >= graph_.real_ops) return false;
    send(*gap);
    send_twins(*gap);
    return true;
}

// In each equal block, offloads the tensor that corresponds to the tensor of `gap`, in the gap before the use
// that corresponds to `gap.use`.
void AwayMoves::send_twins(Gap gap) {
    const int producer = graph_.flat.producer[gap.tensor], user = profile_.op(gap.use);
    if (producer >= graph_.real_ops) return;
    const int group = repeats_->group[producer], user_group = repeats_->group[user];
    if (group < 0 || user_group < 0) return;
    const auto outputs = graph_.flat.outputs[producer];
    const auto output = std::find(outputs.begin(), outputs.end(), gap.tensor) - outputs.begin();
    for (const int twin_user : repeats_->alike[user_group]) {
        if (profile_.runs_of(twin_user).empty()) continue;
        const Node use = profile_.runs_of(twin_user).front();
        for (const int t : graph_.flat.inputs[twin_user]) {
            const auto made = graph_.flat.outputs[graph_.flat.producer[t]];
            const bool same = graph_.flat.producer[t] < graph_.real_ops &&
                              repeats_->group[graph_.flat.producer[t]] == group &&
                              output < static_cast<std::ptrdiff_t>(made.size()) && made[output] == t;
            if (same && graph_.may_leave[t] && profile_.away_before(t, use) < 0) send({t, use});
        }
    }
}

std::optional<RunProfile::AwayId> AwayMoves::any_away() {
    const auto aways = profile_.aways();
    for (int tries = 0; tries < kMostAwaySamples && !aways.empty(); ++tries) {
        const int id = random_.below(aways.size());
        if (aways[id].tensor >= 0) return id;
    }
    return std::nullopt;
}

// Says whether the tensor must be away in the gap because of updates on the host: a tensor that these updates
// read is away at the end, and a resident that they change is away until its first use.
bool AwayMoves::must_be_away(RunProfile::AwayId id) const {
    const RunProfile::Away& away = profile_.aways()[id];
    if (graph_.is_new_there(away.tensor)) return profile_.events(away.tensor)[1] == away.use;
    return away.use == RunProfile::kEnd && graph_.is_read_there(away.tensor);
}

bool AwayMoves::keep_here() {
    const auto id = any_away();
    if (!id || must_be_away(*id)) return false;
    const RunProfile::Away away = profile_.aways()[*id];
    const std::int32_t resident = graph_.resident[away.tensor];
    const bool home = resident >= 0 && (away.use == RunProfile::kEnd ||
                                        away.use == profile_.events(graph_.residents[resident].first)[1]);
    if (home)
        bring_home(graph_.residents[resident]);
    else
        profile_.set_here(*id);
    return true;
}

// Closes all gaps of a resident, which then stays on the device.
void AwayMoves::bring_home(const CopyGraph::Resident& resident) {
    for (const int version : {resident.first, resident.last})
        while (!profile_.aways_of(version).empty()) profile_.set_here(profile_.aways_of(version).front());
}

bool AwayMoves::rerun_to_away() {
    const std::optional<Node> run = moves_.removable_rerun();
    if (!run) return false;
    std::vector<Gap> gaps;
    const int op = profile_.op(*run);
    for (const int t : graph_.flat.outputs[op]) {
        const auto events = profile_.events(t);
        const std::size_t next = profile_.index_of(t, *run) + 1;
        if (next < events.size() && profile_.is_use(t, events[next]) && graph_.may_leave[t])
            gaps.push_back({t, events[next]});
    }
    moves_.remove_cascade(*run);
    for (const Gap& gap : gaps)
        if (profile_.away_before(gap.tensor, gap.use) < 0) send(gap);
    return true;
}

bool AwayMoves::away_to_rerun() {
    const auto away = any_away();
    if (!away || must_be_away(*away)) return false;
    const RunProfile::Away gap = profile_.aways()[*away];
    return moves_.evict_gap(gap.tensor, profile_.index_of(gap.tensor, gap.use));
}

// Returns a random gap that contains the run and is marked as away. Perhaps the tensor is still on the device
// during the run, because its copies take too long.
std::optional<RunProfile::AwayId> AwayMoves::late_across(Node run) {
    for (int tries = 0; tries < kMostAwaySamples; ++tries) {
        const auto id = any_away();
        if (!id) return std::nullopt;
        const RunProfile::Away& away = profile_.aways()[*id];
        const Node last = profile_.events(away.tensor)[profile_.index_of(away.tensor, away.use) - 1];
        if (profile_.before(last, run) && profile_.before(run, away.use)) return id;
    }
    return std::nullopt;
}

bool AwayMoves::wait_for_copies() {
    const Node run = over_run();
    if (run == RunProfile::kNone) return false;
    std::optional<RunProfile::AwayId> id = random_.below(3) == 0 ? late_across(run) : std::nullopt;
    if (!id) {
        const std::optional<Gap> gap = gap_across(run);
        if (!gap) return false;
        id = send(*gap);
    }
    copies_.settle();
    const Node next = profile_.next(run), use = profile_.aways()[*id].use;
    const std::int64_t begins = copies_.clock(run), ends = copies_.clock(next);
    for (const PlannedCopies::Copy& copy : copies_.out())
        if (copy.away == *id && copy.end > begins) wait_before(run, copy.end - begins);
    for (const PlannedCopies::Copy& copy : copies_.back())
        if (copy.away == *id && copy.start < ends) wait_before(use, ends - copy.start);
    return true;
}

void AwayMoves::wait_before(Node run, std::int64_t time) {
    if (time / kMostWaits > graph_.flat.time[graph_.waits.front()]) return;
    for (const int op : graph_.waits) {
        const std::int64_t length = graph_.flat.time[op];
        const bool last = op == graph_.waits.back();
        for (; time >= length || (last && time > 0); time -= length) profile_.insert(op, run);
    }
}

bool AwayMoves::wait() {
    const Node run = over_run();
    if (run == RunProfile::kNone) return false;
    profile_.insert(graph_.waits[random_.below(graph_.waits.size())], run);
    return true;
}

// Removes a wait, or replaces it by the next shorter wait.
bool AwayMoves::wait_less() {
    const auto longer = static_cast<std::size_t>(random_.below(graph_.waits.size()));
    for (std::size_t i = 0; i < graph_.waits.size(); ++i) {
        const std::size_t at = (longer + i) % graph_.waits.size();
        const auto runs = profile_.runs_of(graph_.waits[at]);
        if (runs.empty()) continue;
        const Node run = runs[random_.below(runs.size())];
        if (at + 1 < graph_.waits.size() && random_.below(2) == 0) profile_.insert(graph_.waits[at + 1], run);
        profile_.remove(run);
        return true;
    }
    return false;
}

}  // namespace rematlas::annealing
