#include "core/solvers/dtr.h"

#include <algorithm>
#include <limits>
#include <random>

#include "core/schedule/run_sequence.h"
#include "core/solvers/deadline.h"
#include "core/solvers/dtr_neighbourhood.h"
#include "core/solvers/option_reader.h"
#include "core/solvers/required_once.h"

namespace rematlas {
namespace {

enum class Ending { done, out_of_memory, thrash, stopped };

class DtrSimulation {
  public:
    DtrSimulation(const FlatGraph& flat, Bytes budget, const DtrOptions& options, const Deadline& deadline,
                  const Progress& progress)
        : flat_(flat),
          budget_(budget.value),
          options_(options),
          deadline_(deadline),
          progress_(progress),
          tensors_(flat.tensor_count),
          neighbourhood_(flat, kind_of(options.heuristic)),
          ran_(flat.op_count, false),
          settled_(flat.op_count, false),
          random_(options.seed),
          held_(flat.resident_bytes) {
        for (int op = 0; op < flat.op_count; ++op) {
            if (!flat.required[op]) continue;
            ++required_;
            for (int t : flat.inputs[op]) ++tensors_[t].uses;
        }
        for (int t : flat.results) ++tensors_[t].uses;
        for (int t = 0; t < flat.tensor_count; ++t) {
            for (int user : flat.users[t]) tensors_[t].open_users += flat.required[user];
        }
    }

    Ending run() {
        int done = 0;
        if (held_ > budget_) return Ending::out_of_memory;
        for (int op = 0; op < flat_.op_count; ++op) {
            if (!flat_.required[op]) continue;
            if (const Ending ending = materialize(op); ending != Ending::done) return ending;
            release_inputs(op);
            if (++done % 64 == 0) report(done);
        }
        return Ending::done;
    }

    const RunSequence& runs() const { return runs_; }

  private:
    struct TensorState {
        bool on_device = false;
        bool pinned = false;  ///< may not be evicted: a result, or it could not be made again
        int locks = 0;
        int uses = 0;         ///< first runs of the program still to read it; one more for a result
        int open_users = 0;   ///< ops that read it and might still run (again)
        int pool_index = -1;  ///< in `pool_`, where it can be evicted
        std::int64_t last_use = 0;
    };

    static DtrNeighbourhood::Kind kind_of(DtrHeuristic heuristic) {
        switch (heuristic) {
            case DtrHeuristic::dtr_eq:
                return DtrNeighbourhood::Kind::classes;
            case DtrHeuristic::dtr:
                return DtrNeighbourhood::Kind::ancestors_and_descendants;
            case DtrHeuristic::msps:
                return DtrNeighbourhood::Kind::ancestors;
            default:
                return DtrNeighbourhood::Kind::none;
        }
    }

    void report(int done) const {
        if (!progress_) return;
        const double base = static_cast<double>(std::max<std::int64_t>(flat_.base_time, 1));
        progress_({.overhead = time_ / base,
                   .peak = Bytes(peak_),
                   .bound = {},
                   .fraction_done = done / static_cast<double>(required_)});
    }

    // What can be evicted.

    void update_pool(int t) {
        TensorState& tensor = tensors_[t];
        const bool evictable = tensor.on_device && !tensor.pinned && tensor.locks == 0 && flat_.bytes[t] > 0;
        if (evictable && tensor.pool_index < 0) {
            tensor.pool_index = static_cast<int>(pool_.size());
            pool_.push_back(t);
        } else if (!evictable && tensor.pool_index >= 0) {
            tensors_[pool_.back()].pool_index = tensor.pool_index;
            pool_[tensor.pool_index] = pool_.back();
            pool_.pop_back();
            tensor.pool_index = -1;
        }
    }

    void lock(int t) {
        ++tensors_[t].locks;
        update_pool(t);
    }

    void unlock(int t) {
        --tensors_[t].locks;
        if (tensors_[t].locks == 0 && tensors_[t].uses == 0) deallocate(t);
        update_pool(t);
    }

    void drop(int t) {
        held_ -= flat_.bytes[t];
        tensors_[t].on_device = false;
        update_pool(t);
    }

    void evict(int t) {
        drop(t);
        neighbourhood_.evicted(t);
    }

    double score(int t) {
        const double c = static_cast<double>(flat_.time[flat_.producer[t]]);
        const double m = static_cast<double>(flat_.bytes[t]);
        const double s = static_cast<double>(std::max<std::int64_t>(time_ - tensors_[t].last_use, 1));
        switch (options_.heuristic) {
            case DtrHeuristic::dtr_eq:
            case DtrHeuristic::dtr:
                return (c + static_cast<double>(neighbourhood_.time(t))) / (m * s);
            case DtrHeuristic::local:
                return c / (m * s);
            case DtrHeuristic::lru:
                return 1 / s;
            case DtrHeuristic::size:
                return 1 / m;
            case DtrHeuristic::msps:
                return (c + static_cast<double>(neighbourhood_.time(t))) / m;
            case DtrHeuristic::random:
                return std::uniform_real_distribution<double>(0, 1)(random_);
        }
        return 0;
    }

    /// Evicts until `bytes` more fit. The first of equal scores in the order of tensor ids goes, so that
    /// answers do not depend on the pool.
    Ending make_room(std::int64_t bytes) {
        while (held_ + bytes > budget_) {
            if (pool_.empty()) return Ending::out_of_memory;
            if (++evictions_ % 16 == 0 && deadline_.passed()) return Ending::stopped;
            int least = -1;
            double least_score = std::numeric_limits<double>::infinity();
            for (int t : pool_) {
                const double value = score(t);
                if (least >= 0 && (value > least_score || (value == least_score && t > least))) continue;
                least = t;
                least_score = value;
            }
            evict(least);
        }
        return Ending::done;
    }

    // Running.

    struct Frame {
        int op;
        std::size_t next_input;
    };

    /// Runs `target` after the makers of its absent inputs, and theirs. An explicit stack: chains of evicted
    /// tensors can be as long as the graph.
    Ending materialize(int target) {
        std::vector<Frame> stack;
        const auto enter = [&](int op) {
            for (int t : flat_.inputs[op]) lock(t);
            stack.push_back({op, 0});
        };
        enter(target);
        while (!stack.empty()) {
            Frame& frame = stack.back();
            const auto inputs = flat_.inputs[frame.op];
            while (frame.next_input < inputs.size() && tensors_[inputs[frame.next_input]].on_device)
                ++frame.next_input;
            if (frame.next_input < inputs.size()) {
                enter(flat_.producer[inputs[frame.next_input]]);
                continue;
            }
            const int op = frame.op;
            if (const Ending ending = execute(op); ending != Ending::done) return ending;
            stack.pop_back();
            for (int t : inputs) unlock(t);
        }
        return Ending::done;
    }

    Ending execute(int op) {
        for (int t : flat_.outputs[op]) lock(t);
        std::int64_t fresh = 0;
        for (int t : flat_.outputs[op]) {
            if (!tensors_[t].on_device)
                fresh += flat_.bytes[t];  // a copy from an earlier run makes way for the new one
        }
        const std::int64_t saved = saved_in_place(op);
        if (const Ending ending = make_room(fresh + flat_.workspace[op] - saved); ending != Ending::done)
            return ending;
        held_ += fresh;
        peak_ = std::max(peak_, held_ + flat_.workspace[op] - saved);
        time_ += flat_.time[op];
        runs_.push_back(op);
        ran_[op] = true;
        for (int t : flat_.inputs[op]) tensors_[t].last_use = time_;
        for (int t : flat_.outputs[op]) appear(t);
        if (static_cast<double>(time_) > options_.thrash * static_cast<double>(flat_.base_time))
            return Ending::thrash;
        return (runs_.size() % 64 == 0 && deadline_.passed()) ? Ending::stopped : Ending::done;
    }

    /// Bytes that the run does not take because it can write over its inputs: they are deallocated right
    /// after it, before anything else happens.
    std::int64_t saved_in_place(int op) const {
        if (options_.deallocation != DtrDeallocation::eager) return 0;
        for (int t : flat_.outputs[op]) {
            if (tensors_[t].on_device) return 0;
        }
        std::int64_t saved = 0;
        for (const FlatGraph::Pair& pair : flat_.inplace_pairs(op)) {
            const TensorState& in = tensors_[pair.in];
            if (in.locks > 1 || in.pinned || in.uses > (ran_[op] ? 0 : 1)) return 0;
            saved += pair.saved;
        }
        return saved;
    }

    void appear(int t) {
        TensorState& tensor = tensors_[t];
        if (neighbourhood_.is_evicted(t)) neighbourhood_.returned(t);
        tensor.on_device = true;
        tensor.pinned = tensor.pinned || flat_.is_result[t] || !flat_.recomputable[flat_.producer[t]];
        tensor.last_use = time_;
        unlock(t);
    }

    // Deallocation: `uses` has come to 0, so only reruns can still read the tensor.

    void deallocate(int t) {
        if (!tensors_[t].on_device) return;
        switch (options_.deallocation) {
            case DtrDeallocation::ignore:
                break;
            case DtrDeallocation::eager:
                if (!tensors_[t].pinned) evict(t);
                break;
            case DtrDeallocation::banish:
                if (!banish(t)) to_banish_.push_back(t);
                break;
        }
    }

    bool banish(int t) {
        if (tensors_[t].locks > 0 || neighbourhood_.has_evicted_child(t)) return false;
        neighbourhood_.for_each_child(t, [&](int child) {
            tensors_[child].pinned = true;
            update_pool(child);
        });
        drop(t);
        return true;
    }

    void retry_banishing() {
        const auto done = [&](int t) { return !tensors_[t].on_device || banish(t); };
        to_banish_.erase(std::remove_if(to_banish_.begin(), to_banish_.end(), done), to_banish_.end());
    }

    /// After the first run of `op` in the program.
    void release_inputs(int op) {
        for (int t : flat_.inputs[op]) {
            if (--tensors_[t].uses == 0) deallocate(t);
        }
        if (options_.deallocation == DtrDeallocation::eager) {
            settle(op);
        } else if (options_.deallocation == DtrDeallocation::banish) {
            retry_banishing();
        }
    }

    /// An op is settled when it cannot run again: it may not, or no rerun can need its outputs. A pinned
    /// tensor whose users are all settled is freed; without this the outputs of ops that run once would stay
    /// to the end.
    void settle(int op) {
        std::vector<int> walk;
        const auto consider = [&](int o) {
            if (settled_[o] || !ran_[o]) return;
            const auto outputs = flat_.outputs[o];
            const bool idle =
                std::all_of(outputs.begin(), outputs.end(), [&](int t) { return is_settled(t); });
            if (flat_.recomputable[o] && !idle) return;
            settled_[o] = true;
            walk.push_back(o);
        };
        consider(op);
        for (int t : flat_.inputs[op]) consider_input(t, consider);
        while (!walk.empty()) {
            const int o = walk.back();
            walk.pop_back();
            for (int t : flat_.inputs[o]) {
                --tensors_[t].open_users;
                consider_input(t, consider);
            }
        }
    }

    bool is_settled(int t) const { return tensors_[t].uses == 0 && tensors_[t].open_users == 0; }

    template <class Consider>
    void consider_input(int t, Consider&& consider) {
        if (!is_settled(t)) return;
        if (tensors_[t].pinned && tensors_[t].on_device) drop(t);
        consider(flat_.producer[t]);
    }

    const FlatGraph& flat_;
    std::int64_t budget_;
    DtrOptions options_;
    const Deadline& deadline_;
    const Progress& progress_;
    std::vector<TensorState> tensors_;
    DtrNeighbourhood neighbourhood_;
    std::vector<bool> ran_;
    std::vector<bool> settled_;  ///< cannot run again
    std::mt19937_64 random_;
    std::vector<int> pool_;       ///< what can be evicted
    std::vector<int> to_banish_;  ///< waiting for an evicted child to return
    RunSequence runs_;
    std::int64_t time_ = 0, held_ = 0, peak_ = 0;
    int required_ = 0;
    std::size_t evictions_ = 0;
};

class Dtr : public Solver {
  public:
    explicit Dtr(DtrOptions options) : options_(options) {}
    std::string_view name() const override { return "dtr"; }
    std::string_view summary() const override {
        return "online greedy eviction, simulated (Kirisame et al. 2021); heuristic, any graph";
    }

    Answer solve(const Problem& problem, Bytes budget, const Limits& limits,
                 const Progress& progress) const override {
        const Deadline deadline(limits);
        if (auto solution = optimal_without_reruns(problem.flat, budget)) return *solution;
        DtrSimulation simulation(problem.flat, budget, options_, deadline, progress);
        if (simulation.run() != Ending::done) return infeasible_from(problem.flat, budget, std::nullopt);
        return solution_from(problem.flat, simulation.runs());
    }

  private:
    DtrOptions options_;
};

}  // namespace

Result<DtrOptions> dtr_options(const nlohmann::json* json) {
    DtrOptions options;
    OptionReader reader("dtr", json);
    reader.choice<DtrHeuristic>("heuristic", options.heuristic,
                                {{"dtr-eq", DtrHeuristic::dtr_eq},
                                 {"dtr", DtrHeuristic::dtr},
                                 {"local", DtrHeuristic::local},
                                 {"lru", DtrHeuristic::lru},
                                 {"size", DtrHeuristic::size},
                                 {"msps", DtrHeuristic::msps},
                                 {"random", DtrHeuristic::random}});
    reader.choice<DtrDeallocation>("deallocation", options.deallocation,
                                   {{"eager", DtrDeallocation::eager},
                                    {"ignore", DtrDeallocation::ignore},
                                    {"banish", DtrDeallocation::banish}});
    reader.number("thrash", options.thrash, 1, 1e6);
    reader.unsigned_integer("seed", options.seed);
    if (auto read = reader.finish(); !read) return read.error();
    return options;
}

std::unique_ptr<Solver> make_dtr(DtrOptions options) {
    return std::make_unique<Dtr>(options);
}

}  // namespace rematlas
