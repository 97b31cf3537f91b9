// A race of annealers in the search with copies. The annealers ("lanes") begin from several starts and share
// the time. After each round, only the better lanes continue.
//
//     CopyRace race(problem, budget, limits, options, deadline, incumbent);
//     race.add(graph, state);
//     race.run({.on_host = &choice});
//
// If updates may run on the host, each lane has its own choice of the updates that run there. New lanes start
// from the best answer, with so few updates on the host that the host is done some time before the training
// step ends. If the last new lane gained nothing, the next one uses half of that difference.
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

/// The best schedule that any annealer has found so far, from any start.
class CopyIncumbent {
  public:
    CopyIncumbent(const Progress& progress, const Deadline& deadline)
        : progress_(progress), deadline_(deadline) {}

    /// Takes the schedule if it is the best so far. Returns whether it was taken.
    bool offer(const Solution& found);
    void take(annealing::CopyAnnealer& lane);

    std::optional<Solution> best;
    std::optional<annealing::CopyState> state;  ///< state of the last lane whose answer became `best`
    std::optional<Bytes> smallest;              ///< least peak found; only set while there is no answer
    std::uint64_t moves = 0, found_at = 0;

  private:
    const Progress& progress_;
    const Deadline& deadline_;
};

class CopyRace;

struct RaceTask {
    /// Chooses the updates that run on the host; null if no update may run there.
    const HostChoice* on_host = nullptr;
    /// Called once, when one lane is left and the moves have no limit. May add a lane that starts from a
    /// schedule without copies. May be empty.
    std::function<void(CopyRace& race)> plain_again = {};
    Nanoseconds least_time = {};  ///< a lower bound on the time of all answers
};

class CopyRace {
  public:
    /// All arguments must outlive the race.
    CopyRace(const Problem& problem, Bytes budget, const Limits& limits, const AnnealingOptions& options,
             const Deadline& deadline, CopyIncumbent& incumbent);

    /// Adds a lane, unless its updates on the host alone take as long as the best answer. `graph` must
    /// outlive the race.
    void add(const annealing::CopyGraph& graph, const annealing::CopyState& state);
    /// Runs the lanes until the time is over or nothing better is expected.
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
    std::size_t begun_ = 0;                    ///< number of lanes that were added
    std::deque<annealing::CopyGraph> shared_;  ///< graphs of lanes with some updates on the host
    std::optional<Nanoseconds> shared_from_;   ///< best time at the last call of `share_with_host`
    /// The next lane's updates on the host must end this much before the end of the best answer, as a share
    /// of that answer's time.
    double step_;
    double planned_ = 0;  ///< moves of a lane in one cycle
    Nanoseconds least_time_ = {};
};

}  // namespace rematlas
