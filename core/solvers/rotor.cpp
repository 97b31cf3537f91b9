#include "core/solvers/rotor.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/schedule/run_sequence.h"
#include "core/solvers/deadline.h"
#include "core/solvers/option_reader.h"
#include "core/solvers/required_once.h"
#include "core/solvers/rotor_chain.h"

namespace rematlas {
namespace {

constexpr float kNever = std::numeric_limits<float>::infinity();

/// least(s, t, m): least time to go forward from a_(s-1) and to run the groups t .. s, with m slots beside
/// a_(s-1) and what is held for others. Two tables: in the second, a_t is there from the start (within the m
/// slots) and stays until group t has run or is dropped at once.
class RotorTable {
  public:
    RotorTable(const std::vector<RotorStage>& stages, std::int64_t slot, int slots)
        : stages_(stages),
          n_(static_cast<int>(stages.size())),
          slot_(slot),
          width_(static_cast<std::size_t>(slots) + 1),
          absent_(static_cast<std::size_t>(n_) * (n_ + 1) / 2 * width_, kNever),
          present_(absent_) {
        double total = 1;
        for (const RotorStage& s : stages)
            total += static_cast<double>(s.save_time + s.advance_time + s.backward_time);
        scale_ = std::min(1.0, 1048576.0 / total);  // small whole numbers stay exact in floats
    }

    /// False when the deadline passed before the tables were full.
    bool fill(const Deadline& deadline) {
        for (int length = 1; length <= n_; ++length) {
            for (int s = 0; s + length <= n_; ++s) {
                if (deadline.passed()) return false;
                const int t = s + length - 1;
                fill_entry(s, t, false);
                fill_entry(s, t, true);
                const float* dropped = at(s, t, false);
                float* entry = at(s, t, true);
                for (std::size_t m = 0; m < width_; ++m) entry[m] = std::min(entry[m], dropped[m]);
            }
        }
        return true;
    }

    float least(int s, int t, std::int64_t m, bool present) const {
        return m < 0 ? kNever : at(s, t, present)[m];
    }
    int top() const { return static_cast<int>(width_) - 1; }
    int last() const { return n_ - 1; }

    /// -1: stage s keeps what its group reads; otherwise the stage after the checkpoint.
    int choice(int s, int t, std::int64_t m, bool present) const {
        int best = -1;
        float least_time = kept(s, t, m, present);
        std::int64_t advance_peak = 0;
        float advance_time = 0;
        for (int next = s + 1; next <= t; ++next) {
            extend(s, next, advance_peak, advance_time);
            if (m < in_slots(held(t, present) + advance_peak)) continue;
            const float time =
                advance_time + least(next, t, m - checkpoint(next), present) + least(s, next - 1, m, true);
            if (time < least_time) {
                least_time = time;
                best = next;
            }
        }
        return best;
    }

    /// Whether a_t is of no use where it is there: the entry without it is as good.
    bool dropped(int s, int t, std::int64_t m) const { return at(s, t, false)[m] <= at(s, t, true)[m]; }

    std::int64_t saved(int s) const { return in_slots(stages_[s].saved); }
    std::int64_t checkpoint(int next) const { return in_slots(stages_[next - 1].boundary); }

  private:
    std::int64_t in_slots(std::int64_t bytes) const { return (bytes + slot_ - 1) / slot_; }
    float scaled(std::int64_t time) const { return static_cast<float>(static_cast<double>(time) * scale_); }

    std::size_t offset(int s, int t) const {
        return (static_cast<std::size_t>(t) * (t + 1) / 2 + static_cast<std::size_t>(s)) * width_;
    }
    const float* at(int s, int t, bool present) const {
        return (present ? present_ : absent_).data() + offset(s, t);
    }
    float* at(int s, int t, bool present) { return (present ? present_ : absent_).data() + offset(s, t); }

    /// What is there of the groups above t when the stages up to t run forward, and a_t.
    std::int64_t held(int t, bool present) const {
        return stages_[t].gradients + (present ? stages_[t].boundary : 0);
    }

    /// Slots that keeping what group s reads takes at its worst moments.
    std::int64_t needed_to_keep(int s, int t, bool present) const {
        const std::int64_t forward_peak =
            present && s == t ? stages_[s].save_beside_peak : stages_[s].save_peak;
        return in_slots(std::max(held(t, present) + forward_peak, stages_[s].backward_peak));
    }

    float kept(int s, int t, std::int64_t m, bool present) const {
        if (m < needed_to_keep(s, t, present)) return kNever;
        const RotorStage& stage = stages_[s];
        if (s == t)
            return scaled((present ? stage.save_beside_time : stage.save_last_time) + stage.backward_time);
        return scaled(stage.save_time + stage.backward_time) + least(s + 1, t, m - saved(s), present);
    }

    /// Goes on from stage next-2 to next-1 with nothing kept but the input of stage s.
    void extend(int s, int next, std::int64_t& peak, float& time) const {
        const RotorStage& stage = stages_[next - 1];
        peak = std::max(peak, next - 1 == s ? stage.advance_peak : stage.advance_peak_with_input);
        time += scaled(stage.advance_time);
    }

    void fill_entry(int s, int t, bool present) {
        float* entry = at(s, t, present);
        const std::int64_t width = static_cast<std::int64_t>(width_);
        for (std::int64_t m = needed_to_keep(s, t, present); m < width; ++m)
            entry[m] = kept(s, t, m, present);
        std::int64_t advance_peak = 0;
        float advance_time = 0;
        for (int next = s + 1; next <= t; ++next) {
            extend(s, next, advance_peak, advance_time);
            const std::int64_t shift = checkpoint(next);
            const float* above = at(next, t, present);
            const float* below = at(s, next - 1, true);
            for (std::int64_t m = std::max(in_slots(held(t, present) + advance_peak), shift); m < width;
                 ++m) {
                entry[m] = std::min(entry[m], advance_time + above[m - shift] + below[m]);
            }
        }
    }

    const std::vector<RotorStage>& stages_;
    int n_;
    std::int64_t slot_;
    std::size_t width_;
    std::vector<float> absent_, present_;  ///< by last stage, then first stage, then slots
    double scale_ = 1;
};

/// Follows the tables' choices and writes the runs.
class RotorWriter {
  public:
    RotorWriter(const RotorChain& chain, const RotorTable& table)
        : chain_(chain), table_(table), runs_(chain) {}

    RunSequence write(int slots) {
        group_range(0, table_.last(), slots, false);
        return runs_.take();
    }

  private:
    /// Recursion is as deep as the chain is long.
    void group_range(int s, int t, std::int64_t m, bool present) {
        present = present && !table_.dropped(s, t, m);
        const RotorStage& stage = chain_.stages[s];
        if (s == t) {
            runs_.forward(s, present ? stage.save_beside : stage.save_last);
            runs_.backward(s);
            return;
        }
        const int next = table_.choice(s, t, m, present);
        if (next < 0) {
            runs_.forward(s, stage.save);
            group_range(s + 1, t, m - table_.saved(s), present);
            runs_.backward(s);
            return;
        }
        for (int i = s; i < next; ++i) runs_.forward(i, chain_.stages[i].advance);
        group_range(next, t, m - table_.checkpoint(next), present);
        group_range(s, next - 1, m, true);
    }

    const RotorChain& chain_;
    const RotorTable& table_;
    ChainRuns runs_;
};

struct Slots {
    std::int64_t size = 1;
    int count = 0;
};

/// Memory is tried up to a little above what the budget leaves, because the rounding and what the chain does
/// not see leave some unused.
Slots slots_for(const RotorChain& chain, std::int64_t budget, std::int64_t full, int wanted) {
    const std::int64_t available = std::max<std::int64_t>(budget - chain.always, 1);
    const std::int64_t top =
        std::max<std::int64_t>(std::min(available + available / 8 + chain.always, full), available);
    std::int64_t divisor = 0;
    for (const RotorStage& s : chain.stages) {
        for (std::int64_t bytes :
             {s.boundary, s.saved, s.gradients, s.advance_peak, s.advance_peak_with_input, s.save_peak,
              s.save_beside_peak, s.backward_peak}) {
            divisor = std::gcd(divisor, bytes);
        }
    }
    if (divisor > 0 && top / divisor <= wanted) return {divisor, static_cast<int>(top / divisor)};
    const std::int64_t size = std::max<std::int64_t>((available + wanted - 1) / wanted, 1);
    return {size,
            static_cast<int>(std::min<std::int64_t>(top / size, 2 * static_cast<std::int64_t>(wanted)))};
}

class Rotor : public Solver {
  public:
    explicit Rotor(RotorOptions options) : options_(options) {}
    std::string_view name() const override { return "rotor"; }
    std::string_view summary() const override {
        return "optimal checkpointing of a chain of stages (Beaumont et al. 2019); falls back where there is "
               "no chain";
    }

    Answer solve(const Problem& problem, Bytes budget, const Limits& limits,
                 const Progress& progress) const override {
        const Deadline deadline(limits);
        if (auto solution = optimal_without_reruns(problem.flat, budget)) return *solution;
        const std::int64_t full = cost_of(problem.flat, required_once(problem.flat)).peak;
        const RotorChain chain = rotor_chain(problem, options_.max_stages);
        if (chain.stages.size() < 2) return no_chain(infeasible_from(problem.flat, budget, Bytes(full)));
        Answer answer = infeasible_from(problem.flat, budget, std::nullopt);
        for (int wanted : {options_.slots, kFiner * options_.slots}) {
            if (wanted > options_.slots && !worth_finer(chain.stages.size(), wanted)) break;
            const Slots slots =
                slots_for(chain, budget.value, full, slots_in_memory(chain.stages.size(), wanted));
            RotorTable table(chain.stages, slots.size, slots.count);
            if (!table.fill(deadline)) break;
            answer = best_that_fits(problem.flat, budget, chain, table, deadline, progress);
            if (std::holds_alternative<Solution>(answer) || slots.count < wanted / 2) break;
        }
        return answer;
    }

  private:
    static constexpr int kFiner = 6;

    /// Where nothing fits, rounding may be the reason: the tables are filled once more with finer slots if
    /// that takes about a second.
    static bool worth_finer(std::size_t stages, int slots) {
        return static_cast<double>(stages * stages) * static_cast<double>(stages) * slots < 6e9;
    }

    /// Both tables, at up to twice the slots, stay within 4 GiB.
    static int slots_in_memory(std::size_t stages, int wanted) {
        const std::size_t most = (std::size_t{4} << 30) / (stages * (stages + 1) * sizeof(float) * 2);
        return static_cast<int>(std::clamp<std::size_t>(most, 10, static_cast<std::size_t>(wanted)));
    }

    /// The time rises as slots fall, so the first sequence whose exact peak fits is the best of the table.
    static Answer best_that_fits(const FlatGraph& flat, Bytes budget, const RotorChain& chain,
                                 const RotorTable& table, const Deadline& deadline,
                                 const Progress& progress) {
        std::optional<Bytes> smallest;
        for (int m = table.top();
             m >= 0 && table.least(0, table.last(), m, false) < kNever && !deadline.passed(); --m) {
            const RunSequence runs = RotorWriter(chain, table).write(m);
            const SequenceCost cost = cost_of(flat, runs);
            if (!smallest || cost.peak < smallest->value) smallest = Bytes(cost.peak);
            if (cost.peak > budget.value) continue;
            Solution solution = solution_from(flat, runs);
            if (progress)
                progress(
                    {.overhead = solution.overhead, .peak = solution.peak, .bound = {}, .fraction_done = 1});
            return solution;
        }
        return infeasible_from(flat, budget, smallest);
    }

    RotorOptions options_;
};

}  // namespace

Result<RotorOptions> rotor_options(const nlohmann::json* json) {
    RotorOptions options;
    OptionReader reader("rotor", json);
    reader.integer("slots", options.slots, 10, 100000);
    reader.integer("max_stages", options.max_stages, 2, 1000);
    if (auto read = reader.finish(); !read) return read.error();
    return options;
}

std::unique_ptr<Solver> make_rotor(RotorOptions options) {
    return std::make_unique<Rotor>(options);
}

}  // namespace rematlas
