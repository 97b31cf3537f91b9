#include "core/solvers/offmate/copying_steps.h"

#include <algorithm>
#include <cmath>

#include "core/schedule/side_queues.h"

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
          places_(flat.tensor_count) {
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
        return std::move(out_);
    }

  private:
    struct Place {
        bool on_device = false, on_host = false;
        bool lives_on_host = false;
        bool waits = false;    ///< on the device, to be offloaded when the link has time
        bool leaving = false;  ///< to be freed as soon as its copy is done
        int back = 0;          ///< the run for which it must be there again
        int to_host = -1, to_device = -1, host_op = -1, host_write = -1;
    };

    /// The gaps that end with a fetch, in the order of their ends, which is that of their numbers.
    void find_returns() {
        for (std::size_t g = 0; g < lives_.gaps.size(); ++g) {
            const Gap& gap = lives_.gaps[g];
            if (!away_[g] || gap.stays_away) continue;
            returns_.push_back(static_cast<std::int32_t>(g));
        }
    }

    /// When runs begin if nothing waits, and from when on each fetch would come too late.
    void find_clock() {
        clock_.push_back(0);
        for (const PlacedRun& run : lives_.runs())
            clock_.push_back(clock_.back() + (run.on_host ? 0 : flat_.time[run.op]));
        latest_.resize(returns_.size());
        std::int64_t before = clock_.back();
        for (std::size_t i = returns_.size(); i-- > 0;) {
            const Gap& gap = lives_.gaps[returns_[i]];
            before = std::min(before, clock_[static_cast<std::size_t>(gap.end)]);
            before -= copy_time(gap.tensor, limits_.links.to_device_bytes_per_second) +
                      limits_.links.copy_latency.value;
            latest_[i] = before;
        }
    }

    /// Residents that are never changed have a copy on the host too, where they leave in between.
    void start() {
        std::vector<char> leaves(flat_.tensor_count, 0);
        for (std::size_t g = 0; g < away_.size(); ++g)
            if (away_[g]) leaves[lives_.gaps[g].tensor] = 1;
        for (int t = 0; t < flat_.tensor_count; ++t) {
            Place& place = places_[t];
            const std::int32_t last = lives_.last_gap(t);
            const bool ends_away = last >= 0 && away_[last] && lives_.gaps[last].stays_away;
            if (!lives_.is_resident(t)) {
                if (ends_away) out_.homes.on_host.push_back(TensorId(t));
                continue;
            }
            const bool stays =
                !ends_away && leaves[t] && !lives_.is_changed(t) && lives_.gaps[last].stays_away;
            place.lives_on_host = place.on_host = ends_away || stays;
            place.on_device = !ends_away;
            if (place.lives_on_host) {
                out_.homes.on_host.push_back(TensorId(t));
                host_held_ += flat_.bytes[t];
            }
            if (stays) out_.homes.stays.push_back(TensorId(t));
            if (place.on_device) held_ += flat_.bytes[t];
        }
        require(held_ <= limits_.budget && fits_host(0));
        for (int t = 0; t < flat_.tensor_count; ++t)
            if (lives_.is_resident(t) && places_[t].on_device) begin_gap(t, lives_.first_gap(t));
    }

    // Copies ------------------------------------------------------------------------------------------------

    std::int64_t copy_time(int tensor, double bytes_per_second) const {
        return std::llround(static_cast<double>(flat_.bytes[tensor]) / bytes_per_second * 1e9);
    }
    int copy(int tensor, SideQueue queue, double speed, double contended, std::vector<int> after) {
        return queues_.add({.queue = queue,
                            .alone = copy_time(tensor, speed),
                            .contended = copy_time(tensor, contended > 0 ? contended : speed),
                            .latency = limits_.links.copy_latency.value,
                            .after = std::move(after),
                            .label = tensor});
    }

    bool fits_host(std::int64_t more) const {
        return !limits_.host_budget || host_held_ + more <= *limits_.host_budget;
    }

    bool offload(int t) {
        Place& place = places_[t];
        const std::int64_t more = place.lives_on_host ? 0 : flat_.bytes[t];
        if (!fits_host(more)) return false;
        out_.steps.push_back(Step::offload(TensorId(t)));
        place.to_host =
            copy(t, SideQueue::to_host, limits_.links.to_host_bytes_per_second,
                 limits_.links.to_host_contended_bytes_per_second, {place.to_device, place.host_op});
        place.on_host = true;
        place.waits = false;
        if (place.leaving) under_way_.push_back(t);
        host_held_ += more;
        link_busy_until_ = std::max(link_busy_until_, queues_.now()) + limits_.links.copy_latency.value +
                           copy_time(t, limits_.links.to_host_bytes_per_second);
        return true;
    }

    void fetch(int t) {
        Place& place = places_[t];
        out_.steps.push_back(Step::fetch(TensorId(t)));
        place.to_device =
            copy(t, SideQueue::to_device, limits_.links.to_device_bytes_per_second,
                 limits_.links.to_device_contended_bytes_per_second, {place.to_host, place.host_write});
        place.on_device = true;
        held_ += flat_.bytes[t];
    }

    /// Waits for its copy to the host.
    void free(int t) {
        Place& place = places_[t];
        queues_.wait_for(place.to_host);
        out_.steps.push_back(Step::free(TensorId(t)));
        place.on_device = place.leaving = place.waits = false;
        held_ -= flat_.bytes[t];
    }

    void drop(int t) {
        Place& place = places_[t];
        for (const int work : {place.to_host, place.to_device, place.host_op}) queues_.wait_for(work);
        out_.steps.push_back(Step::drop(TensorId(t)));
        place.on_host = false;
        host_held_ -= flat_.bytes[t];
    }

    /// The gap has begun. `back`: the run that needs it again.
    void leave(int t, int back) {
        Place& place = places_[t];
        place.back = back;
        if (place.on_host && queues_.done(place.to_host)) return free(t);
        place.leaving = true;
        if (place.on_host)
            under_way_.push_back(t);
        else
            wait_for_link(t);
    }

    void wait_for_link(int t) {
        if (places_[t].waits) return;
        places_[t].waits = true;
        waiting_.push_back(t);
    }

    /// Starts copies while the link would be idle before the run is over: of what is needed last first, and of nothing
    /// that would not be back in time.
    void offload_waiting(int run) {
        const std::int64_t idle_until = queues_.now() + time_of(run);
        while (link_busy_until_ < idle_until) {
            const int t = latest_back([&](int other) { return is_worth_it(other, run); });
            if (t < 0) return;
            require(offload(t));
        }
    }

    bool is_worth_it(int t, int run) const {
        const Place& place = places_[t];
        if (!fits_host(place.lives_on_host ? 0 : flat_.bytes[t])) return false;
        if (place.back > lives_.run_count()) return true;
        const std::int64_t late = queues_.now() - clock_[static_cast<std::size_t>(run)];
        const std::int64_t both_ways = copy_time(t, limits_.links.to_host_bytes_per_second) +
                                       copy_time(t, limits_.links.to_device_bytes_per_second) +
                                       2 * limits_.links.copy_latency.value;
        return std::max(queues_.now(), link_busy_until_) + both_ways <=
               clock_[static_cast<std::size_t>(place.back)] + late;
    }

    /// Of what waits for the link, or -1.
    template <class Accepts>
    int latest_back(const Accepts& accepts) {
        std::erase_if(waiting_, [&](int t) { return !places_[t].waits; });
        int best = -1;
        for (const int t : waiting_)
            if ((best < 0 || places_[t].back > places_[best].back) && accepts(t)) best = t;
        return best;
    }

    /// Frees what has left, and on the host what does not come back.
    void settle() {
        std::erase_if(under_way_, [&](int t) {
            if (!places_[t].leaving) return true;
            if (!queues_.done(places_[t].to_host)) return false;
            free(t);
            return true;
        });
        std::erase_if(spent_, [&](int t) {
            const Place& place = places_[t];
            for (const int work : {place.to_host, place.to_device, place.host_op})
                if (!queues_.done(work)) return false;
            drop(t);
            return true;
        });
    }

    /// Room for so many bytes more: waits for what is leaving, in the order in which it does.
    bool make_room(std::int64_t more) {
        while (out_.fits && held_ + more > limits_.budget) {
            std::erase_if(under_way_, [&](int t) { return !places_[t].leaving; });
            std::int64_t missing = held_ + more - limits_.budget;
            for (const int t : under_way_) missing -= flat_.bytes[t];
            while (out_.fits && missing > 0) {
                const int t = latest_back([&](int other) { return places_[other].leaving; });
                if (t < 0) break;
                missing -= flat_.bytes[t];
                require(offload(t));
            }
            if (under_way_.empty()) return false;
            free(under_way_.front());
        }
        return out_.fits;
    }

    // What comes back ---------------------------------------------------------------------------------------

    /// Before a run, or before the end: all that it needs, and of the rest what there is room for.
    void fetch_ahead(int run) {
        for (; next_return_ < returns_.size(); ++next_return_) {
            const Gap& gap = lives_.gaps[returns_[next_return_]];
            if (gap.end > run && !may_come(gap, run)) return;
            come_back(gap, run);
            if (!out_.fits) return;
        }
    }

    /// Whether it can be fetched now, ahead of its time, and should be.
    bool may_come(const Gap& gap, int run) {
        const Place& place = places_[gap.tensor];
        if (gap.begin >= run || gap.end - run > kLookAhead) return false;
        const bool stands = place.on_device && place.leaving;
        if (!stands && !queues_.done(place.host_write)) return false;
        if (!stands && !queues_.done(place.to_host)) return false;
        if (!limits_.eager && latest_[next_return_] > clock_[static_cast<std::size_t>(run) + 1]) return false;
        const std::int64_t bytes = flat_.bytes[gap.tensor];
        if (!stands && held_ + needed_by(run) + bytes > limits_.budget) return false;
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
        Place& place = places_[gap.tensor];
        for (int at = run; at < gap.end; ++at)
            memory_[static_cast<std::size_t>(at) + 1] += flat_.bytes[gap.tensor];
        if (place.on_device) {  // it has not left yet
            place.leaving = place.waits = false;
            return;
        }
        if (!make_room(flat_.bytes[gap.tensor])) return require(false);
        if (!place.on_host) return require(false);
        fetch(gap.tensor);
    }

    std::int64_t time_of(int run) const {
        return clock_[static_cast<std::size_t>(run) + 1] - clock_[static_cast<std::size_t>(run)];
    }

    /// Bytes beside what is there and what is still to be fetched for it.
    std::int64_t needed_by(int run) const { return run < lives_.run_count() ? lives_.made_bytes(run) : 0; }

    // Runs --------------------------------------------------------------------------------------------------

    void run_on_device(int run) {
        const PlacedRun& own = lives_.runs()[run];
        bool in_place = lives_.runs_in_place(run);
        std::int64_t more = lives_.made_bytes(run);
        for (const FlatGraph::Pair& pair : flat_.inplace_pairs(own.op)) {
            if (!lives_.runs_in_place(run) || queues_.done(places_[pair.in].to_host)) continue;
            in_place = false;
        }
        if (lives_.runs_in_place(run) && !in_place)
            for (const FlatGraph::Pair& pair : flat_.inplace_pairs(own.op)) more += pair.saved;
        for (const Touch& touch : lives_.touches(run)) {
            if (touch.kind == Touch::Kind::make && places_[touch.tensor].on_device) free(touch.tensor);
            if (touch.kind != Touch::Kind::make && !places_[touch.tensor].on_device) return require(false);
        }
        if (!make_room(more)) return require(false);
        for (const Touch& touch : lives_.touches(run))
            if (touch.kind != Touch::Kind::make) queues_.wait_for(places_[touch.tensor].to_device);
        for (const Touch& touch : lives_.touches(run)) {
            if (touch.kind != Touch::Kind::change) continue;
            Place& place = places_[touch.tensor];
            wait_until_copied(touch.tensor);
            queues_.wait_for(place.host_op);
            if (place.on_host && !place.lives_on_host) host_held_ -= flat_.bytes[touch.tensor];
            place.on_host = false;
        }
        out_.steps.push_back(in_place ? Step::run_inplace(OpId(own.op)) : Step::run(OpId(own.op)));
        queues_.move_to(queues_.now() + flat_.time[own.op]);
        take_and_make(run, in_place);
        for (const Touch& touch : lives_.touches(run)) begin_gap(touch.tensor, touch.next);
    }

    /// A change must not come while its tensor is being copied; only steps that let go of it wait.
    void wait_until_copied(int t) {
        if (queues_.done(places_[t].to_host)) return;
        if (!places_[t].lives_on_host) return drop(t);
        free(t);
        fetch(t);
        queues_.wait_for(places_[t].to_device);
    }

    void take_and_make(int run, bool in_place) {
        const int op = lives_.runs()[run].op;
        if (in_place) {
            for (const FlatGraph::Pair& pair : flat_.inplace_pairs(op)) {
                places_[pair.in].on_device = false;
                held_ -= flat_.bytes[pair.in];
            }
        }
        for (const int t : flat_.outputs[op]) {
            places_[t].on_device = true;
            held_ += flat_.bytes[t];
        }
    }

    /// After an event of the tensor: it stays, leaves, or is of no use any more.
    void begin_gap(int t, std::int32_t gap) {
        Place& place = places_[t];
        std::erase(spent_, t);
        if (gap >= 0 && away_[gap]) return leave(t, back_from(gap));
        if (gap >= 0) {
            const std::int32_t later = leaves_later(t, gap);
            if (later < 0 || place.on_host) return;
            place.back = back_from(later);
            return wait_for_link(t);
        }
        const bool read_there = lives_.last_read_on_host(t) >= 0;
        if (place.on_host && !read_there) spent_.push_back(t);
        if (!place.on_device) return;
        if (read_there || !queues_.done(place.to_host)) return leave(t, lives_.run_count() + 1);
        free(t);
    }

    int back_from(std::int32_t gap) const {
        return lives_.gaps[gap].stays_away ? lives_.run_count() + 1 : lives_.gaps[gap].end;
    }

    /// The next gap in which it is away with the value that it has now, or -1.
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
        const Op& op = graph_.ops[OpId(lives_.runs()[run].op)];
        SideWork work{.queue = SideQueue::host, .alone = op.host_time->value};
        for (const auto* list : {&op.inputs, &op.mutates}) {
            for (TensorId t : *list) {
                Place& place = places_[t.index()];
                if (!place.on_host && (!place.on_device || !offload(t.value))) return require(false);
                work.after.push_back(place.to_host);
            }
        }
        for (TensorId t : op.mutates)
            if (places_[t.index()].on_device) free(t.value);
        out_.steps.push_back(Step::run_host(OpId(lives_.runs()[run].op)));
        const int number = queues_.add(std::move(work));
        for (const auto* list : {&op.inputs, &op.mutates, &op.outputs})
            for (TensorId t : *list) places_[t.index()].host_op = number;
        for (const auto* list : {&op.mutates, &op.outputs})
            for (TensorId t : *list) places_[t.index()].host_write = number;
        for (TensorId t : op.outputs) {
            if (!fits_host(flat_.bytes[t.index()])) return require(false);
            places_[t.index()].on_host = true;
            host_held_ += flat_.bytes[t.index()];
        }
    }

    void finish() {
        settle();
        fetch_ahead(lives_.run_count());
        for (const int t : std::vector<int>(waiting_))
            if (places_[t].waits && places_[t].leaving) require(offload(t));
        for (const int t : std::vector<int>(under_way_))
            if (places_[t].leaving) free(t);
        for (int t = 0; t < flat_.tensor_count; ++t)
            if (lives_.is_resident(t) && places_[t].on_host && !places_[t].lives_on_host) drop(t);
        for (const Place& place : places_)
            for (const int work : {place.to_host, place.to_device, place.host_op}) queues_.wait_for(work);
        out_.time = queues_.now();
    }

    void require(bool condition) { out_.fits = out_.fits && condition; }

    static constexpr int kLookAhead = 4000;  ///< runs

    const Graph& graph_;
    const FlatGraph& flat_;
    const Lifetimes& lives_;
    const std::vector<char>& away_;
    const EmissionLimits& limits_;
    std::vector<std::int64_t> memory_;  ///< with what was fetched ahead
    std::vector<Place> places_;
    std::vector<std::int32_t> returns_;  ///< gaps
    std::vector<std::int64_t> clock_, latest_;
    std::size_t next_return_ = 0;
    int blocked_until_ = 0;  ///< a run: no room before it for `blocked_bytes_`
    std::int64_t blocked_bytes_ = 0;
    std::vector<int> waiting_;    ///< tensors, for the link to the host; some wait no longer
    std::vector<int> under_way_;  ///< leaving, in the order of their copies; some stay after all
    std::int64_t link_busy_until_ = 0;
    std::vector<int> spent_;  ///< on the host, and of no use
    std::int64_t held_ = 0, host_held_ = 0;
    SideQueues queues_;
    Emitted out_;
};

}  // namespace

Emitted copying_steps(const Graph& graph, const FlatGraph& flat, const Lifetimes& lives,
                      const std::vector<char>& away, const EmissionLimits& limits) {
    return StepWriter(graph, flat, lives, away, limits).write();
}

}  // namespace rematlas::offmate
