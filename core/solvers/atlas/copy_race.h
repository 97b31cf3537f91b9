// Lanes of the search with copies: annealers from several starts share the time, and ever fewer go on.
//
//     CopyRace race(problem, budget, limits, options, deadline, incumbent);
//     race.add(graph, state);
//     race.run({.on_host = &choice});
//
// Where updates may run on the host, each lane anneals one choice of the updates that do. New lanes begin
// from the best answer, with choices that the host finishes earlier. The steps to earlier times become ever
// smaller where they gain nothing.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/solvers/annealing/anneal_copies.h"
#include "core/solvers/annealing/repeats.h"
#include "core/solvers/atlas/host_choice.h"

namespace rematlas {

/// The best schedule so far of all parts of the search.
class CopyIncumbent {
  public:
    CopyIncumbent(const Progress& progress, const Deadline& deadline)
        : progress_(progress), deadline_(deadline) {}

    /// Takes the schedule if it is the best so far, and returns whether it is.
    bool offer(const Solution& found);
    void take(annealing::CopyAnnealer& lane);

    std::optional<Solution> best;
    std::optional<annealing::CopyState> state;  ///< of the last lane that had the best answer
    std::optional<Bytes> smallest;              ///< the least peak that was found, while there is no answer
    std::uint64_t moves = 0, found_at = 0;

  private:
    const Progress& progress_;
    const Deadline& deadline_;
};

class CopyRace;

struct RaceTask {
    /// The choices of updates that run on the host; null: no update may.
    const HostChoice* on_host = nullptr;
    /// Adds another start without copies, when the race is decided; empty: there is none.
    std::function<void(CopyRace& race)> plain_again = {};
    Nanoseconds least_time = {};  ///< no answer takes less
};

class CopyRace {
  public:
    /// All must outlive it.
    CopyRace(const Problem& problem, Bytes budget, const Limits& limits, const AnnealingOptions& options,
             const Deadline& deadline, CopyIncumbent& incumbent);

    /// Adds a lane, unless its updates on the host alone take as long as the best answer. `graph` must
    /// outlive the race.
    void add(const annealing::CopyGraph& graph, const annealing::CopyState& state);
    /// Runs the lanes until the time is over, or no better answer is hoped for.
    void run(const RaceTask& task);

  private:
    using Lane = std::unique_ptr<annealing::CopyAnnealer>;

    bool is_over() const;
    bool run_cycle(annealing::CopyAnnealer& lane, std::size_t round);
    double first_cycle() const;
    void keep_the_best(std::size_t most);
    bool is_decided(double started) const;
    bool has_stagnated() const;
    void share_with_host(const HostChoice& choice, double part);
    void step_towards_less(const HostChoice& choice);

    const Problem& problem_;
    const Bytes budget_;
    const Limits& limits_;
    const AnnealingOptions& options_;
    const Deadline& deadline_;
    CopyIncumbent& incumbent_;
    const annealing::Repeats repeats_;
    std::vector<Lane> lanes_;
    std::size_t begun_ = 0;                    ///< lanes that were begun so far
    std::deque<annealing::CopyGraph> shared_;  ///< of lanes with a choice of updates on the host
    std::optional<Nanoseconds> shared_from_;   ///< the best time when the last of these began
    double step_;         ///< the part of the best time by which the next one is to be better
    double planned_ = 0;  ///< moves of a lane in a cycle
    Nanoseconds least_time_ = {};
};

}  // namespace rematlas
