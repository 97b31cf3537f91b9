#include "core/solvers/atlas/copy_search.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/sizes.h"
#include "core/schedule/run_sequence.h"
#include "core/schedule/simulate.h"
#include "core/solvers/annealing/copy_graph.h"
#include "core/solvers/atlas/atlas.h"
#include "core/solvers/atlas/copy_race.h"
#include "core/solvers/offmate/offmate.h"
#include "core/solving/answers.h"
#include "core/solving/ordered_updates.h"

namespace rematlas {

namespace {

using annealing::CopyState;

// Shares of the time limit.
constexpr double kPlainShare = 0.15;       // for the answer without copies
constexpr double kOffmateShare = 0.35;     // for the answer of offmate, if weights may be offloaded
constexpr double kActivationsShare = 0.4;  // for the answer that copies only activations
constexpr double kPlainAgainShare = 0.35;  // for another answer without copies, if copies gain little
constexpr double kLittleGain = 0.01;       // copies gain little if they save less than this share of the time
constexpr double kLargerShare = 0.07;      // for the answer without copies at each larger budget
/// The larger budgets are the budget plus these shares of the bytes that a link carries during `kPartOfStep`
/// of the step's time.
constexpr double kLarger[] = {0.2, 0.4, 0.7, 1.0};
constexpr double kPartOfStep = 0.35;
// Shares of the budget for activations, if the residents take more than half of the budget.
constexpr double kLeftToActivations[] = {0.9, 0.6};

class CopySearch {
  public:
    CopySearch(const Problem& problem, Bytes budget, const Limits& limits, const AnnealingOptions& options,
               const Progress& progress)
        : problem_(problem),
          budget_(budget),
          limits_(limits),
          options_(options),
          deadline_(limits),
          progress_(progress),
          incumbent_(progress_, deadline_),
          graph_(annealing::copy_graph(problem, budget)),
          host_graph_(with_updates_on_host(problem, budget)) {}

    Answer run() {
        if (Infeasible none = infeasible_from(problem_, budget_, incumbent_.smallest); none.proven)
            return with_hint(std::move(none));
        if (nothing_leaves()) return without_copies(limits_.time, progress_);
        start_without_copies();
        if (moves_weights(problem_.copies.what)) start_from_offmate();
        if (residents_are_heavy())
            start_without_residents();
        else if (problem_.copies.what == Offload::all)
            start_with_activations();
        else
            start_from_larger_budgets();
        if (!is_over()) race();
        if (incumbent_.best) return *std::move(incumbent_.best);
        return told_of_host(infeasible_from(problem_, budget_, incumbent_.smallest));
    }

  private:
    struct Start {
        const annealing::CopyGraph* graph;
        CopyState state;
    };

    Infeasible told_of_host(Infeasible none) const {
        if (const auto& host = problem_.copies.host_budget)
            none.reason = "with at most " + format_bytes(*host) + " on the host";
        return none;
    }

    /// Adds to `none` the least peak that is reached without copies. The search for this peak is short,
    /// because the budget is also below the bound without copies.
    Infeasible with_hint(Infeasible none) {
        const Answer plain = without_copies(limits_.time);
        if (const auto* why = std::get_if<Infeasible>(&plain)) none.smallest_found = why->smallest_found;
        return told_of_host(std::move(none));
    }

    /// Returns the graph in which every update that can run on the host does so. Returns `std::nullopt` if
    /// none can.
    static std::optional<annealing::CopyGraph> with_updates_on_host(const Problem& problem, Bytes budget) {
        if (class_within(problem.graph, problem.copies.what) < ScheduleClass::with_host_ops)
            return std::nullopt;
        const annealing::UpdateChoice all(problem.graph.ops.size(), 1);
        annealing::CopyGraph graph = annealing::copy_graph(problem, budget, all);
        if (graph.host.runs.empty()) return std::nullopt;
        return graph;
    }

    /// Returns the time of the ops that have to run on the device. No answer takes less time.
    Nanoseconds least_time() const {
        const FlatGraph& flat = host_graph_ ? host_graph_->flat : graph_.flat;
        std::int64_t time = 0;
        for (int op = 0; op < graph_.real_ops; ++op) time += flat.required[op] ? flat.time[op] : 0;
        return Nanoseconds(time);
    }
    bool is_over() const {
        return deadline_.passed() || (incumbent_.best && incumbent_.best->time <= least_time());
    }

    /// Says whether the residents would take more than half of the budget if all of them were on the device.
    bool residents_are_heavy() const {
        return graph_.home >= 0 && problem_.flat.resident_bytes > budget_.value / 2;
    }

    bool nothing_leaves() const {
        return std::none_of(graph_.may_leave.begin(), graph_.may_leave.end(), [](auto may) { return may; });
    }

    Answer without_copies(std::chrono::nanoseconds time, const Progress& progress = {}) {
        return solve_in_order({problem_.graph, problem_.flat}, *make_atlas(options_), budget_,
                              limits_.with_time(std::min(time, deadline_.left())), progress);
    }

    /// Searches for an answer without copies, for a share of the time. Returns the runs of the answer.
    std::optional<RunSequence> plain_runs(double share) {
        const Answer answer = without_copies(share_of(limits_.time, share));
        const auto* found = std::get_if<Solution>(&answer);
        if (!found) {
            incumbent_.smallest = std::get<Infeasible>(answer).smallest_found;
            return std::nullopt;
        }
        incumbent_.offer(*found);
        plain_time_ = std::min(plain_time_.value_or(found->time), found->time);
        return runs_of(found->steps);
    }

    /// Searches for an answer that copies only activations. This answer is also valid here. Adds it as a
    /// start, together with the schedules without copies that the same search found. If residents take little
    /// memory, most of the gain comes from copies of activations.
    void start_with_activations() {
        Copies copies = problem_.copies;
        copies.what = Offload::activations;
        const Limits limits =
            limits_.with_time(std::min(share_of(limits_.time, kActivationsShare), deadline_.left()));
        AnnealingOptions options = options_;
        if (options.max_moves > 0)  // the share is rounded up, because 0 would mean no limit
            options.max_moves =
                1 + static_cast<std::uint64_t>(kActivationsShare * static_cast<double>(options.max_moves));
        const Problem activations{problem_.graph, problem_.flat, copies};
        CopySearch search(activations, budget_, limits, options, {});
        search.begin_with(*this);
        const Answer answer = search.run();
        if (search.plain_.size() == plain_.size())
            return start_from_larger_budgets();  // the search tried nothing: only residents can be offloaded
        for (std::size_t i = plain_.size(); i < search.plain_.size(); ++i)
            starts_.push_back({&graph_, annealing::start_of(problem_, graph_, search.plain_[i])});
        const auto* found = std::get_if<Solution>(&answer);
        if (!found) return;
        incumbent_.offer(*found);
        if (!search.incumbent_.state) return;
        for (const annealing::CopyGraph* graph : graphs())
            starts_.push_back(
                {graph, annealing::start_of(problem_, *graph, search.graph_, *search.incumbent_.state)});
    }

    /// Adds the answer of offmate as a start. Offmate itself chooses the updates that run on the host and the
    /// residents that stay on the device.
    void start_from_offmate() {
        if (options_.max_moves > 0) return;  // `max_moves` does not limit offmate
        const Limits limits =
            limits_.with_time(std::min(share_of(limits_.time, kOffmateShare), deadline_.left()));
        const Answer answer = make_offmate()->solve(problem_, budget_, limits, {});
        const auto* found = std::get_if<Solution>(&answer);
        if (!found) return;
        incumbent_.offer(*found);
        const annealing::CopyGraph& graph =
            host_runs(found->steps) > 0 && host_graph_ ? *host_graph_ : graph_;
        starts_.push_back({&graph, annealing::start_of(problem_, graph, found->steps)});
    }

    void start_without_copies() {
        if (std::exchange(began_plain_, true)) {
            for (const RunSequence& runs : plain_) add_start(runs);
            return;
        }
        if (const auto runs = plain_runs(kPlainShare)) start_from(*runs);
    }

    /// Takes over the results without copies from the search `other`. Must be called before `run`.
    void begin_with(const CopySearch& other) {
        began_plain_ = other.began_plain_;
        plain_ = other.plain_;
        incumbent_.best = other.incumbent_.best;
        incumbent_.smallest = other.incumbent_.smallest;
        plain_time_ = other.plain_time_;
    }

    /// Says whether copies gain so little that the faster search without copies should get more time.
    bool copies_gain_little() const {
        if (!plain_time_ || !incumbent_.best) return false;
        const double gain = static_cast<double>((*plain_time_ - incumbent_.best->time).value);
        return gain < kLittleGain * static_cast<double>(problem_.flat.base_time);
    }

    /// Returns the graph in which all updates run on the device. If updates can run on the host, also returns
    /// the graph in which each of them runs there.
    std::vector<const annealing::CopyGraph*> graphs() const {
        if (!host_graph_) return {&graph_};
        return {&graph_, &*host_graph_};
    }

    void add_start(const RunSequence& runs) {
        for (const annealing::CopyGraph* graph : graphs())
            starts_.push_back({graph, annealing::start_of(problem_, *graph, runs)});
    }

    /// Adds as starts the answers for a changed step, in which residents take no bytes. Tensors that the
    /// optimizer reads take no bytes in it either, because they are freed early. A part of the budget is
    /// reserved for residents that are on the device for a while.
    void start_without_residents() {
        FlatGraph free = problem_.flat;
        free.resident_bytes = 0;
        for (const OpId id : problem_.graph.ops.ids()) {
            if (problem_.graph.ops[id].phase != Phase::optimizer) continue;
            for (const std::int32_t t : free.inputs[id.index()]) free.bytes[t] = 0;
        }
        for (const double part : kLeftToActivations) {
            if (is_over()) return;
            start_from({problem_.graph, free},
                       Bytes(static_cast<std::int64_t>(part * static_cast<double>(budget_.value))));
        }
        start_from(required_once(problem_.flat));
    }

    void start_from(RunSequence plain) {
        add_start(plain);
        plain_.push_back(std::move(plain));
    }

    /// Adds the answer to a problem without copies as a start.
    void start_from(const Problem& plain, Bytes budget) {
        const Limits limits =
            limits_.with_time(std::min(share_of(limits_.time, kLargerShare), deadline_.left()));
        const Answer answer = make_atlas(options_)->solve(plain, budget, limits, {});
        const auto* found = std::get_if<Solution>(&answer);
        auto runs = found ? runs_of(found->steps) : std::nullopt;
        if (runs) start_from(*std::move(runs));
    }

    void start_from_larger_budgets() {
        const Links& links = problem_.copies.links;
        const double carried = kPartOfStep * static_cast<double>(problem_.flat.base_time) / 1e9 *
                               std::min(links.to_host_bytes_per_second, links.to_device_bytes_per_second);
        const RunSequence once = required_once(problem_.flat);
        const Bytes all(cost_of(problem_.flat, once).peak);
        for (const double part : kLarger) {
            if (is_over()) return;
            const double larger = static_cast<double>(budget_.value) + part * carried;
            if (larger >= static_cast<double>(all.value)) break;
            start_from({problem_.graph, problem_.flat}, Bytes(static_cast<std::int64_t>(larger)));
        }
        start_from(once);
    }

    void race() {
        CopyRace race(problem_, budget_, limits_, options_, deadline_, incumbent_);
        for (const Start& start : starts_) race.add(*start.graph, start.state);
        std::optional<HostChoice> on_host;
        if (host_graph_) on_host.emplace(problem_, host_graph_->host);
        race.run({.on_host = on_host ? &*on_host : nullptr,
                  .plain_again =
                      [this](CopyRace& to) {
                          if (!copies_gain_little()) return;
                          if (const auto runs = plain_runs(kPlainAgainShare))
                              to.add(graph_, annealing::start_of(problem_, graph_, *runs));
                      },
                  .least_time = least_time()});
    }

    const Problem& problem_;
    const Bytes budget_;
    const Limits& limits_;
    const AnnealingOptions& options_;
    const Deadline deadline_;
    const Progress progress_;
    CopyIncumbent incumbent_;
    const annealing::CopyGraph graph_;
    const std::optional<annealing::CopyGraph>
        host_graph_;  ///< the graph in which all updates that can run on the host run there
    bool began_plain_ = false;
    std::vector<RunSequence> plain_;  ///< runs without copies that were added as starts
    std::vector<Start> starts_;
    std::optional<Nanoseconds> plain_time_;  ///< time of the best answer without copies
};

}  // namespace

Answer solve_with_copies(const Problem& problem, Bytes budget, const Limits& limits,
                         const AnnealingOptions& options, const Progress& progress) {
    return CopySearch(problem, budget, limits, options, progress).run();
}

}  // namespace rematlas
