#include "core/solvers/annealing/moves.h"

#include <algorithm>

namespace rematlas::annealing {

namespace {

constexpr int kMostPullDepth = 200;             // longest chain of reruns in which each needs the next
constexpr std::size_t kMostPulled = 400;        // most reruns of an eviction; more are slow to undo
constexpr int kLongestHop = 30;                 // most runs that a shifted run passes
constexpr int kMostFollowers = 20;              // longest chain of makers or users shifted with a run
constexpr double kFollows = 0.8;                // probability that a maker or user is shifted, too
constexpr std::size_t kMovesAnExchange = 1000;  // one in this many moves is an exchange, which is slow
constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

}  // namespace

Moves::Moves(const FlatGraph& graph, RunProfile& profile, Random& random, const Repeats* repeats,
             int first_op)
    : graph_(graph),
      profile_(profile),
      random_(random),
      repeats_(repeats && !repeats->alike.empty() ? repeats : nullptr),
      first_op_(first_op),
      removal_gain_(graph.op_count),
      planned_(graph.op_count),
      kept_(graph.tensor_count) {
    for (int t = 0; t < graph.tensor_count; ++t)
        if (graph.producer[t] >= 0 && graph.bytes[t] > 0 && graph.recomputable[graph.producer[t]])
            evictable_.push_back(t);
    for (int op = 0; op < graph.op_count; ++op) {
        double bytes = 1;
        for (const int t : graph.outputs[op]) bytes += static_cast<double>(graph.bytes[t]);
        removal_gain_[op] = (static_cast<double>(graph.time[op]) + 1) / bytes;
    }
}

bool Moves::propose(const Acceptance& acceptance) {
    acceptance_ = acceptance;
    limit_time(profile_.excess());
    given_up_ = evicts_alone_ = false;
    if (repeats_ && random_.below(kMovesAnExchange) == 0) return exchange_in_equal_blocks();
    return profile_.excess() > 0 ? propose_repair() : propose_improvement();
}

void Moves::limit_time(std::int64_t saved_at_most) {
    const double most = static_cast<double>(acceptance_.time) +
                        acceptance_.time_per_byte * static_cast<double>(saved_at_most);
    most_time_ = static_cast<std::int64_t>(std::min(most, static_cast<double>(kNoLimit / 2)));
}

bool Moves::propose_repair() {
    const double draw = random_.unit();
    if (draw < 0.45) {
        evicts_alone_ = true;
        return evict_over();
    }
    if (draw < 0.70) return remove_rerun();
    if (draw < 0.80) return shift_rerun();
    if (draw < 0.85) return shift_any();
    if (draw < 0.92) return shift_group();
    return remove_then_evict(3);
}

bool Moves::propose_improvement() {
    const double draw = random_.unit();
    if (draw < 0.15) return evict_somewhere();
    if (draw < 0.45) return remove_rerun();
    if (draw < 0.55) return shift_rerun();
    if (draw < 0.60) return shift_any();
    if (draw < 0.67) return shift_group();
    if (draw < 0.90) return remove_then_evict(4);
    return evict_then_remove();
}

bool Moves::remove_then_evict(int most_evictions) {
    if (!remove_rerun()) return false;
    for (int i = 0; i < most_evictions && profile_.over_count() > 0; ++i) {
        evict_over();
        if (given_up_) return false;
    }
    return true;
}

bool Moves::evict_then_remove() {
    most_time_ = kNoLimit / 2;
    if (!evict_somewhere()) return false;
    for (int removals = 1 + random_.below(3); removals > 0; --removals) remove_rerun();
    return true;
}

bool Moves::evict_gap(int tensor, std::size_t use) {
    const auto events = profile_.events(tensor);
    const Node user = events[use];
    const Node last = events[use - 1];
    const int op = graph_.producer[tensor];
    if (!graph_.recomputable[op] || may_not_run_again(op, user)) return false;
    // If the use comes right after the run that makes the tensor, there is nothing to gain.
    if (profile_.op(last) == op && profile_.next(last) == user) return false;
    // The time of runs that become useless, because the rerun replaces them.
    const std::int64_t replaced = profile_.op(last) == op ? time_served(last, user, 0) : 0;
    if (evicts_alone_ && replaced == 0) limit_time(profile_.excess_between(last, user, graph_.bytes[tensor]));
    plan_.clear();
    ++plan_count_;
    planned_time_ = -replaced;
    if (!plan_rerun(op, user, 0)) return false;
    for (const int planned : plan_) profile_.insert(planned, user);
    if (profile_.op(last) == op && profile_.is_useless(last)) remove_cascade(last);
    return true;
}

// Plans a run of the op right before another run, after reruns of the inputs that are not kept until then.
// Does not change the profile yet, because most plans are given up as too slow before they are complete.
bool Moves::plan_rerun(int op, Node before, int depth) {
    planned_time_ += graph_.time[op];
    given_up_ = profile_.time() + planned_time_ > most_time_;
    if (given_up_ || would_read_old_copy(op, before)) return false;
    for (const int input : graph_.inputs[op]) {
        const int producer = graph_.producer[input];
        if (planned_[producer] == plan_count_ || kept_[input] == plan_count_) continue;
        const auto events = profile_.events(input);
        const std::size_t at = profile_.first_at_or_after(input, before);
        if (at < events.size() && profile_.is_use(input, events[at])) continue;
        if (depth >= kMostPullDepth || plan_.size() >= kMostPulled || !graph_.recomputable[producer] ||
            may_not_run_again(producer, before))
            continue;
        if (prefers_keeping(input, events[at - 1], before))
            kept_[input] = plan_count_;
        else if (!plan_rerun(producer, before, depth + 1))
            return false;
    }
    plan_.push_back(op);
    planned_[op] = plan_count_;
    return true;
}

// Returns the time in ns of the run, and of the runs that only this run needs. Returns 0 if any run other
// than `user` needs the run.
std::int64_t Moves::time_served(Node run, Node user, int depth) const {
    if (depth >= kMostPullDepth || !serves_only(run, user)) return 0;
    const int op = profile_.op(run);
    std::int64_t time = graph_.time[op];
    for (const int input : graph_.inputs[op]) {
        const std::size_t at = profile_.index_of(input, run);
        if (at == 0) continue;
        const Node server = profile_.events(input)[at - 1];
        const int maker = profile_.op(server);
        if (profile_.is_use(input, server) || (graph_.required[maker] && profile_.runs_of(maker).size() < 2))
            continue;
        time += time_served(server, run, depth + 1);
    }
    return time;
}

bool Moves::serves_only(Node run, Node user) const {
    for (const int output : graph_.outputs[profile_.op(run)]) {
        const auto events = profile_.events(output);
        std::size_t next = profile_.index_of(output, run) + 1;
        if (next < events.size() && events[next] == user) ++next;
        if (next < events.size() && profile_.is_use(output, events[next])) return false;
    }
    return true;
}

bool Moves::prefers_keeping(int tensor, Node last_event, Node before) {
    if (profile_.is_new(last_event)) return true;  // made or used by the current move
    const bool fits = profile_.most_between(last_event, before) + graph_.bytes[tensor] <= profile_.budget();
    return random_.chance(fits ? 0.8 : 0.2);
}

std::optional<Moves::Node> Moves::removable_rerun() {
    const auto repeated = profile_.repeated();
    if (repeated.empty()) return std::nullopt;
    std::optional<Node> best;
    for (int draws = tournament_size(); draws > 0; --draws) {
        const Node run = repeated[random_.below(repeated.size())];
        if (best && removal_gain_[profile_.op(run)] <= removal_gain_[profile_.op(*best)]) continue;
        if (profile_.can_remove(run)) best = run;
    }
    return best;
}

bool Moves::remove_rerun() {
    const std::optional<Node> run = removable_rerun();
    if (run) remove_cascade(*run);
    return run.has_value();
}

void Moves::remove_cascade(Node first) {
    std::vector<Node> servers;
    std::vector<Node> waiting{first};
    while (!waiting.empty()) {
        const Node run = waiting.back();
        waiting.pop_back();
        const int op = profile_.op(run);
        servers.clear();
        for (const int input : graph_.inputs[op]) {
            const std::size_t at = profile_.index_of(input, run);
            if (at == 0) continue;
            const Node server = profile_.events(input)[at - 1];
            if (!profile_.is_use(input, server)) servers.push_back(server);
        }
        profile_.remove(run);
        for (const Node server : servers) {
            const bool queued = std::find(waiting.begin(), waiting.end(), server) != waiting.end();
            if (!queued && profile_.is_useless(server)) waiting.push_back(server);
        }
        // A queued run is no longer useless if it has become the only run of a required op.
        std::erase_if(waiting, [&](Node server) { return !profile_.is_useless(server); });
    }
}

// Removes a rerun and evicts tensors instead, in all equal blocks. A change that is good in one block is good
// in equal blocks, too. If it were made in only one block, the peak would stay in the other blocks.
bool Moves::exchange_in_equal_blocks() {
    const std::optional<Node> rerun = removable_rerun();
    if (!rerun || repeats_->group[profile_.op(*rerun)] < 0) return false;
    const int op = profile_.op(*rerun);
    remove_cascade(*rerun);
    remove_twins(op);
    while (profile_.over_count() > 0) {
        const Node over = profile_.over_run(random_.below(static_cast<std::size_t>(profile_.over_count())));
        const std::optional<Gap> gap = gap_across(over);
        const std::int64_t excess = profile_.excess();
        if (!gap) return false;
        evict_twins(*gap);
        if (given_up_ || profile_.excess() >= excess) return false;
    }
    return true;
}

// Removes the last rerun of each op that corresponds to `op` in an equal block.
void Moves::remove_twins(int op) {
    for (const int twin : repeats_->alike[repeats_->group[op]]) {
        const auto runs = profile_.runs_of(twin);
        if (twin == op || runs.size() < 2) continue;
        const auto earlier = [&](Node a, Node b) { return profile_.before(a, b); };
        const Node last = *std::max_element(runs.begin(), runs.end(), earlier);
        if (profile_.can_remove(last)) remove_cascade(last);
    }
}

// Evicts the tensor in the gap. Then evicts the tensors that correspond to it in equal blocks, before the
// uses that correspond to the gap's use.
void Moves::evict_twins(Gap gap) {
    const int producer = graph_.producer[gap.tensor];
    const Node user = profile_.events(gap.tensor)[gap.use];
    const int group = repeats_->group[producer];
    const int user_group = user == RunProfile::kEnd ? -1 : repeats_->group[profile_.op(user)];
    if (!evict_gap(gap.tensor, gap.use) || group < 0 || user_group < 0) return;
    const auto outputs = graph_.outputs[producer];
    const auto output = std::find(outputs.begin(), outputs.end(), gap.tensor) - outputs.begin();
    const std::vector<std::int32_t>& users = repeats_->alike[user_group];
    for (std::size_t i = 0; i < users.size() && !given_up_; ++i) {
        for (const int tensor : graph_.inputs[users[i]]) {
            const int twin = graph_.producer[tensor];
            const auto made = graph_.outputs[twin];
            if (twin == producer || repeats_->group[twin] != group ||
                output >= static_cast<std::ptrdiff_t>(made.size()) || made[output] != tensor)
                continue;
            const std::optional<Gap> same = gap_before(tensor, users[i]);
            if (same && profile_.over_count() > 0) evict_gap(same->tensor, same->use);
        }
    }
}

// Returns the gap of the tensor that ends with the first run of `user`.
std::optional<Moves::Gap> Moves::gap_before(int tensor, int user) const {
    const auto events = profile_.events(tensor);
    for (std::size_t at = 1; at < events.size(); ++at)
        if (events[at] != RunProfile::kEnd && profile_.op(events[at]) == user) return Gap{tensor, at};
    return std::nullopt;
}

Moves::Node Moves::random_run() {
    for (int tries = 0; tries < 8; ++tries) {
        const auto runs = profile_.runs_of(random_.below(static_cast<std::size_t>(graph_.op_count)));
        if (!runs.empty()) return runs[random_.below(runs.size())];
    }
    return RunProfile::kNone;
}

bool Moves::shift_rerun() {
    const auto repeated = profile_.repeated();
    return !repeated.empty() && shift(repeated[random_.below(repeated.size())]);
}

bool Moves::shift_any() {
    const Node run = random_run();
    return run != RunProfile::kNone && shift(run);
}

bool Moves::shift(Node run) {
    const std::optional<Node> target = shift_target(run);
    if (!target || !can_move(run, *target)) return false;
    move(run, *target);
    return true;
}

Moves::Node Moves::move(Node run, Node target) {
    const Node moved = profile_.insert(profile_.op(run), target);
    profile_.remove(run);
    return moved;
}

// Shifts a run together with the makers of its inputs or the users of its outputs. If only one of the runs
// were shifted, the tensors between them would be kept for longer.
bool Moves::shift_group() {
    const Node run = random_run();
    if (run == RunProfile::kNone) return false;
    const std::optional<Node> target = shift_target(run);
    if (!target || !can_move(run, *target)) return false;
    const bool later = profile_.before(run, *target);
    const Node moved = move(run, *target);
    later ? bring_makers(moved, 0) : bring_users(moved, 0);
    return true;
}

// Moves the runs that made the inputs of `run` to right before `run`.
void Moves::bring_makers(Node run, int depth) {
    if (depth == kMostFollowers) return;
    for (const int input : graph_.inputs[profile_.op(run)]) {
        const std::size_t at = profile_.index_of(input, run);
        if (at == 0 || !random_.chance(kFollows)) continue;
        const Node maker = profile_.events(input)[at - 1];
        if (!profile_.is_use(input, maker) && can_move(maker, run)) bring_makers(move(maker, run), depth + 1);
    }
}

// Moves the next runs that read the outputs of `run` to right after `run`.
void Moves::bring_users(Node run, int depth) {
    if (depth == kMostFollowers) return;
    for (const int output : graph_.outputs[profile_.op(run)]) {
        const std::size_t next = profile_.index_of(output, run) + 1;
        const auto events = profile_.events(output);
        if (next == events.size() || !random_.chance(kFollows)) continue;
        const Node user = events[next], target = profile_.next(run);
        if (user != RunProfile::kEnd && profile_.is_use(output, user) && can_move(user, target))
            bring_users(move(user, target), depth + 1);
    }
}

// Returns a random new place for the run: beside an event of an input, right before the next event of an
// output, or some places away.
std::optional<Moves::Node> Moves::shift_target(Node run) {
    const int op = profile_.op(run);
    const auto inputs = graph_.inputs[op];
    const auto outputs = graph_.outputs[op];
    const int kind = random_.below(3);
    if (kind == 0 && !inputs.empty()) {
        const int tensor = inputs[random_.below(inputs.size())];
        const auto events = profile_.events(tensor);
        const Node event = events[random_.below(events.size())];
        return event == RunProfile::kEnd || random_.below(2) == 0 ? event : profile_.next(event);
    }
    if (kind == 1 && !outputs.empty()) {
        const int tensor = outputs[random_.below(outputs.size())];
        const std::size_t next = profile_.index_of(tensor, run) + 1;
        if (next >= profile_.events(tensor).size()) return std::nullopt;
        return profile_.events(tensor)[next];
    }
    const bool forward = random_.below(2) == 0;
    Node target = run;
    for (int hops = 1 + random_.below(kLongestHop) + (forward ? 1 : 0); hops > 0; --hops) {
        const Node step = forward ? profile_.next(target) : profile_.previous(target);
        if (step == RunProfile::kNone || target == RunProfile::kEnd) break;
        target = step;
    }
    return target;
}

// Says whether the place right before the run `before` is after the run of the boundary op (the op between
// forward and backward of a compiled step). The answer also holds for `before` itself, unless `before` is the
// boundary's run.
bool Moves::is_behind_boundary(Node before) const {
    return profile_.before(profile_.runs_of(graph_.boundary)[0], before);
}

// Returns the first run after the boundary that reads the tensor, unless the tensor is made again between the
// boundary and that run; kNone if there is none.
Moves::Node Moves::first_reader_behind(int tensor) const {
    const auto events = profile_.events(tensor);
    const std::size_t at =
        profile_.first_at_or_after(tensor, profile_.next(profile_.runs_of(graph_.boundary)[0]));
    const bool is_read =
        at < events.size() && events[at] != RunProfile::kEnd && profile_.is_use(tensor, events[at]);
    return is_read ? events[at] : RunProfile::kNone;
}

// Says whether the boundary forbids to insert a run of the op right before the run `before`. It does if the
// op already runs on the same side of the boundary. It also does if the new run would come after the
// boundary, and an earlier run after the boundary reads an output of the op.
bool Moves::may_not_run_again(int op, Node before) const {
    if (graph_.boundary < 0) return false;
    const bool behind = is_behind_boundary(before);
    const auto runs = profile_.runs_of(op);
    if (std::any_of(runs.begin(), runs.end(), [&](Node run) { return is_behind_boundary(run) == behind; }))
        return true;
    const auto outputs = graph_.outputs[op];
    return behind && std::any_of(outputs.begin(), outputs.end(), [&](int t) {
               const Node reader = first_reader_behind(t);
               return reader != RunProfile::kNone && profile_.before(reader, before);
           });
}

// Says whether the op, if it ran right before the run `before`, would run after the boundary and would read a
// tensor that a later run, also after the boundary, makes again.
bool Moves::would_read_old_copy(int op, Node before) const {
    if (graph_.boundary < 0 || !is_behind_boundary(before)) return false;
    const auto inputs = graph_.inputs[op];
    return std::any_of(inputs.begin(), inputs.end(), [&](int t) {
        const auto events = profile_.events(t);
        const std::size_t at = profile_.first_at_or_after(t, before);
        return at < events.size() && events[at] != RunProfile::kEnd && !profile_.is_use(t, events[at]);
    });
}

// Says whether the run can be moved to the place right before `target`. The place must differ from the
// current one, the op must have its inputs there, and the run's outputs must still be made before their uses.
bool Moves::can_move(Node run, Node target) const {
    if (target == run || target == profile_.next(run)) return false;
    const int op = profile_.op(run);
    if (first_op_ >= 0 &&
        (op == first_op_ || (target != RunProfile::kEnd && profile_.op(target) == first_op_)))
        return false;
    if (op == graph_.boundary) return false;
    if (graph_.boundary >= 0 && is_behind_boundary(target) != is_behind_boundary(run) &&
        may_not_run_again(op, target))
        return false;
    if (would_read_old_copy(op, target)) return false;
    if (profile_.before(target, run)) {
        for (const int t : graph_.inputs[op])
            if (profile_.first_at_or_after(t, target) == 0) return false;
        return true;
    }
    for (const int t : graph_.outputs[op]) {
        const std::size_t at = profile_.index_of(t, run);
        const auto events = profile_.events(t);
        // The run can move past a use of its output if an earlier run of the op has made this output, too. In
        // graphs with a boundary it cannot.
        if ((at == 0 || graph_.boundary >= 0) && at + 1 < events.size() &&
            profile_.is_use(t, events[at + 1]) && profile_.before(events[at + 1], target))
            return false;
    }
    return true;
}

}  // namespace rematlas::annealing
