#include "core/solvers/offmate/copying_steps.h"

#include <algorithm>

#include "core/solvers/offmate/clocked_places.h"

namespace rematlas::offmate {
namespace {

class StepWriter {
  public:
    StepWriter(const Graph& graph, const FlatGraph& flat, const Lifetimes& lives,
               const std::vector<char>& away, const EmissionLimits& limits)
        : graph_(graph),
          flat_(flat),
          lives_(lives),
          away_(away),
          limits_(limits),
          memory_(lives.memory(away)),
          places_(flat, limits.links, limits.host_budget),
          leaves_(flat.tensor_count) {
        find_returns();
        find_clock();
    }

    Emitted write() {
        out_.fits = true;
        start();
        for (int run = 0; run < lives_.run_count() && out_.fits; ++run) {
            settle();
            fetch_ahead(run);
            if (out_.fits) offload_waiting(run);
            if (lives_.runs()[run].on_host)
                run_on_host(run);
            else
                run_on_device(run);
        }
        if (out_.fits) finish();
        out_.steps = places_.take_steps();
        return std::move(out_);
    }

  private:
    /// Whether and when a tensor leaves the device.
    struct Leave {
        bool waits = false;    ///< whether the tensor is to be offloaded once the link is free
        bool leaving = false;  ///< whether the tensor is to be freed as soon as its copy is done
        int back = 0;          ///< the run before which the tensor must be back
    };

    /// Lists the gaps that end with a fetch, in the order of their ends. `Lifetimes::gaps` has this order.
    void find_returns() {
        for (std::size_t g = 0; g < lives_.gaps.size(); ++g) {
            const Gap& gap = lives_.gaps[g];
            if (!away_[g] || gap.stays_away) continue;
            returns_.push_back(static_cast<std::int32_t>(g));
        }
    }

    /// Finds when each run begins if nothing waits, and the latest time at which each fetch must begin so
    /// that the tensor arrives in time.
    void find_clock() {
        clock_.push_back(0);
        for (const PlacedRun& run : lives_.runs())
            clock_.push_back(clock_.back() + (run.on_host ? 0 : flat_.time[run.op]));
        latest_.resize(returns_.size());
        std::int64_t before = clock_.back();
        for (std::size_t i = returns_.size(); i-- > 0;) {
            const Gap& gap = lives_.gaps[returns_[i]];
            before = std::min(before, clock_[static_cast<std::size_t>(gap.end)]);
            before -= places_.time_in(gap.tensor);
            latest_[i] = before;
        }
    }

    /// Decides where the residents are at the start. A resident that is never changed, and that leaves the
    /// device between runs, has a copy on the host during the whole step.
    void start() {
        std::vector<char> leaves(flat_.tensor_count, 0);
        for (std::size_t g = 0; g < away_.size(); ++g)
            if (away_[g]) leaves[lives_.gaps[g].tensor] = 1;
        for (int t = 0; t < flat_.tensor_count; ++t) {
            const std::int32_t last = lives_.last_gap(t);
            const bool ends_away = last >= 0 && away_[last] && lives_.gaps[last].stays_away;
            const bool resident = lives_.is_resident(t);
            const bool stays =
                resident && !ends_away && leaves[t] && !lives_.is_changed(t) && lives_.gaps[last].stays_away;
            if (ends_away || stays) out_.homes.on_host.push_back(TensorId(t));
            if (stays) out_.homes.stays.push_back(TensorId(t));
            if (resident) require(places_.begin(t, !ends_away, ends_away || stays));
        }
        require(places_.held() <= limits_.budget);
        for (int t = 0; t < flat_.tensor_count; ++t)
            if (places_[t].on_device) begin_gap(t, lives_.first_gap(t));
    }

    // Copies ------------------------------------------------------------------------------------------------

    bool offload(int t) {
        if (!places_.fits_host(t)) return false;
        places_.offload(t);
        leaves_[t].waits = false;
        if (leaves_[t].leaving) under_way_.push_back(t);
        return true;
    }

    /// Frees the tensor once its copy to the host is done.
    void free(int t) {
        places_.free(t);
        leaves_[t].waits = leaves_[t].leaving = false;
    }

    /// Begins a gap in which the tensor is away. `back`: the run that needs the tensor next.
    void leave(int t, int back) {
        leaves_[t].back = back;
        if (places_[t].on_host && places_.has_left(t)) return free(t);
        leaves_[t].leaving = true;
        if (places_[t].on_host)
            under_way_.push_back(t);
        else
            wait_for_link(t);
    }

    void wait_for_link(int t) {
        if (leaves_[t].waits) return;
        leaves_[t].waits = true;
        waiting_.push_back(t);
    }

    /// Starts copies to the host as long as the link would otherwise be idle before the run ends. The tensor
    /// whose next use is latest is offloaded first. A tensor that would not be back in time stays.
    void offload_waiting(int run) {
        const std::int64_t idle_until = places_.now() + time_of(run);
        while (places_.link_busy_until() < idle_until) {
            const int t = latest_back([&](int other) { return is_worth_it(other, run); });
            if (t < 0) return;
            require(offload(t));
        }
    }

    bool is_worth_it(int t, int run) const {
        if (!places_.fits_host(t)) return false;
        if (leaves_[t].back > lives_.run_count()) return true;
        const std::int64_t late = places_.now() - clock_[static_cast<std::size_t>(run)];
        const std::int64_t begin = std::max(places_.now(), places_.link_busy_until());
        return begin + places_.time_out(t) + places_.time_in(t) <=
               clock_[static_cast<std::size_t>(leaves_[t].back)] + late;
    }

    /// Returns the accepted waiting tensor whose next use is latest; -1 if there is none.
    template <class Accepts>
    int latest_back(const Accepts& accepts) {
        std::erase_if(waiting_, [&](int t) { return !leaves_[t].waits; });
        int best = -1;
        for (const int t : waiting_)
            if ((best < 0 || leaves_[t].back > leaves_[best].back) && accepts(t)) best = t;
        return best;
    }

    /// Frees the tensors whose copies to the host are done, and drops the copies on the host that are not
    /// needed any more.
    void settle() {
        std::erase_if(under_way_, [&](int t) {
            if (!leaves_[t].leaving) return true;
            if (!places_.has_left(t)) return false;
            free(t);
            return true;
        });
        std::erase_if(spent_, [&](int t) {
            if (!places_.is_settled(t)) return false;
            places_.drop(t);
            return true;
        });
    }

    /// Makes room for `more` bytes: frees the tensors that leave, in the order of their copies, and waits for
    /// these copies. Returns false if there is not enough room.
    bool make_room(std::int64_t more) {
        while (out_.fits && places_.held() + more > limits_.budget) {
            std::erase_if(under_way_, [&](int t) { return !leaves_[t].leaving; });
            std::int64_t missing = places_.held() + more - limits_.budget;
            for (const int t : under_way_) missing -= flat_.bytes[t];
            while (out_.fits && missing > 0) {
                const int t = latest_back([&](int other) { return leaves_[other].leaving; });
                if (t < 0) break;
                missing -= flat_.bytes[t];
                require(offload(t));
            }
            if (under_way_.empty()) return false;
            free(under_way_.front());
        }
        return out_.fits;
    }

    // Fetches -------------------------------------------------------------------------------------------

    /// Called before each run and before the end of the step. Fetches all tensors that the run needs, and
    /// tensors for later runs while there is room.
    void fetch_ahead(int run) {
        for (; next_return_ < returns_.size(); ++next_return_) {
            const Gap& gap = lives_.gaps[returns_[next_return_]];
            if (gap.end > run && !may_come(gap, run)) return;
            come_back(gap, run);
            if (!out_.fits) return;
        }
    }

    /// Says whether the tensor can and should be fetched before this run, although only a later run needs it.
    bool may_come(const Gap& gap, int run) {
        if (gap.begin >= run || gap.end - run > kLookAhead) return false;
        const bool stands = places_[gap.tensor].on_device && leaves_[gap.tensor].leaving;
        if (!stands && !places_.can_come(gap.tensor)) return false;
        if (!limits_.eager && latest_[next_return_] > clock_[static_cast<std::size_t>(run) + 1]) return false;
        const std::int64_t bytes = flat_.bytes[gap.tensor];
        if (!stands && places_.held() + needed_by(run) + bytes > limits_.budget) return false;
        if (run < blocked_until_ && blocked_bytes_ <= bytes) return false;
        for (int at = gap.end; at-- > run;) {
            if (memory_[static_cast<std::size_t>(at) + 1] + bytes <= limits_.budget) continue;
            blocked_until_ = at + 1;
            blocked_bytes_ = bytes;
            return false;
        }
        return true;
    }

    void come_back(const Gap& gap, int run) {
        const std::int64_t bytes = flat_.bytes[gap.tensor];
        for (int at = run; at < gap.end; ++at) memory_[static_cast<std::size_t>(at) + 1] += bytes;
        if (places_[gap.tensor].on_device) {  // the tensor has not left yet
            leaves_[gap.tensor].leaving = leaves_[gap.tensor].waits = false;
            return;
        }
        require(make_room(bytes) && places_[gap.tensor].on_host);
        if (out_.fits) places_.fetch(gap.tensor);
    }

    std::int64_t time_of(int run) const {
        return clock_[static_cast<std::size_t>(run) + 1] - clock_[static_cast<std::size_t>(run)];
    }

    /// Returns the bytes that the run needs in addition to the tensors that exist or will be fetched for it.
    std::int64_t needed_by(int run) const { return run < lives_.run_count() ? lives_.made_bytes(run) : 0; }

    // Runs --------------------------------------------------------------------------------------------------

    void run_on_device(int run) {
        const int op = lives_.runs()[run].op;
        bool in_place = lives_.runs_in_place(run);
        std::int64_t more = lives_.made_bytes(run);
        if (in_place) {
            const auto pairs = flat_.inplace_pairs(op);
            in_place = std::all_of(pairs.begin(), pairs.end(),
                                   [&](const FlatGraph::Pair& pair) { return places_.has_left(pair.in); });
            for (const FlatGraph::Pair& pair : pairs) more += in_place ? 0 : pair.saved;
        }
        std::vector<std::int32_t> read, changed;
        for (const Touch& touch : lives_.touches(run)) {
            const bool there = places_[touch.tensor].on_device;
            if (touch.kind != Touch::Kind::make && !there) return require(false);
            if (touch.kind == Touch::Kind::make && there) free(touch.tensor);
            if (touch.kind == Touch::Kind::read) read.push_back(touch.tensor);
            if (touch.kind == Touch::Kind::change) changed.push_back(touch.tensor);
        }
        if (!make_room(more)) return require(false);
        for (const int t : changed) wait_until_copied(t);
        places_.run(op, in_place, read, changed);
        for (const Touch& touch : lives_.touches(run)) begin_gap(touch.tensor, touch.next);
    }

    /// Called before a run that changes the tensor. The run must not start while the tensor is copied to the
    /// host. Runs do not wait for copies to the host, but steps that free or drop a tensor do, so this
    /// function writes such a step.
    void wait_until_copied(int t) {
        if (places_.has_left(t)) return;
        if (!places_[t].lives_on_host) return places_.drop(t);
        free(t);
        places_.fetch(t);
    }

    /// Called after each event of a tensor. Decides whether the tensor stays, leaves, or is not needed any
    /// more.
    void begin_gap(int t, std::int32_t gap) {
        std::erase(spent_, t);
        if (gap >= 0 && away_[gap]) return leave(t, back_from(gap));
        if (gap >= 0) {
            const std::int32_t later = leaves_later(t, gap);
            if (later < 0 || places_[t].on_host) return;
            leaves_[t].back = back_from(later);
            return wait_for_link(t);
        }
        const bool read_there = lives_.last_read_on_host(t) >= 0;
        if (places_[t].on_host && !read_there) spent_.push_back(t);
        if (!places_[t].on_device) return;
        if (read_there || !places_.has_left(t)) return leave(t, lives_.run_count() + 1);
        free(t);
    }

    int back_from(std::int32_t gap) const {
        return lives_.gaps[gap].stays_away ? lives_.run_count() + 1 : lives_.gaps[gap].end;
    }

    /// Returns the next gap in which the tensor is away with its present value, or -1.
    std::int32_t leaves_later(int t, std::int32_t gap) const {
        while (gap >= 0 && !lives_.gaps[gap].to_end) {
            const auto touches = lives_.touches(lives_.gaps[gap].end);
            const auto touch = std::find_if(touches.begin(), touches.end(),
                                            [&](const Touch& other) { return other.tensor == t; });
            if (touch->kind == Touch::Kind::change) return -1;
            gap = touch->next;
            if (gap >= 0 && away_[gap]) return gap;
        }
        return -1;
    }

    void run_on_host(int run) {
        const int number = lives_.runs()[run].op;
        const Op& op = graph_.ops[OpId(number)];
        for (const auto* list : {&op.inputs, &op.mutates})
            for (TensorId t : *list) {
                const Place& place = places_[t.index()];
                if (!place.on_host && (!place.on_device || !offload(t.value))) return require(false);
            }
        for (TensorId t : op.mutates)
            if (places_[t.index()].on_device) free(t.value);
        require(places_.run_on_host(op, number));
    }

    void finish() {
        settle();
        fetch_ahead(lives_.run_count());
        for (const int t : std::vector<int>(waiting_))
            if (leaves_[t].waits && leaves_[t].leaving) require(offload(t));
        for (const int t : std::vector<int>(under_way_))
            if (leaves_[t].leaving) free(t);
        for (int t = 0; t < flat_.tensor_count; ++t)
            if (lives_.is_resident(t) && places_[t].on_host && !places_[t].lives_on_host) places_.drop(t);
        places_.wait_for_all();
        out_.time = places_.now();
    }

    void require(bool condition) { out_.fits = out_.fits && condition; }

    static constexpr int kLookAhead = 4000;  ///< no tensor is fetched more than this many runs ahead

    const Graph& graph_;
    const FlatGraph& flat_;
    const Lifetimes& lives_;
    const std::vector<char>& away_;
    const EmissionLimits& limits_;
    std::vector<std::int64_t> memory_;  ///< bytes at each place (see Lifetimes::memory), including tensors
                                        ///< fetched ahead
    ClockedPlaces places_;
    std::vector<Leave> leaves_;          ///< by tensor
    std::vector<std::int32_t> returns_;  ///< indices of gaps that end with a fetch
    std::vector<std::int64_t> clock_, latest_;
    std::size_t next_return_ = 0;
    int blocked_until_ = 0;  ///< before this run, no tensor of `blocked_bytes_` or more can be fetched ahead
    std::int64_t blocked_bytes_ = 0;
    std::vector<int> waiting_;    ///< tensors that wait for the link to the host, and some that no longer
                                  ///< wait (`Leave::waits`)
    std::vector<int> under_way_;  ///< tensors whose copies to the host are under way, in the order of the
                                  ///< copies, and some that stay after all (`Leave::leaving`)
    std::vector<int> spent_;      ///< tensors whose copies on the host are not needed any more
    Emitted out_;
};

}  // namespace

Emitted copying_steps(const Graph& graph, const FlatGraph& flat, const Lifetimes& lives,
                      const std::vector<char>& away, const EmissionLimits& limits) {
    return StepWriter(graph, flat, lives, away, limits).write();
}

}  // namespace rematlas::offmate
