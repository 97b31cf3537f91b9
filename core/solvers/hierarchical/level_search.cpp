#include "core/solvers/hierarchical/level_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/solvers/annealing/random.h"

namespace rematlas::hierarchical {

namespace {

constexpr double kStartHeat = 1, kEndHeat = 0.01;  // multiples of the mean time of a visit
constexpr int kAdaptEvery = 128;
constexpr int kClockPeriod = 64;  // moves between two looks at the clock
constexpr int kMostFeeders = 6;

class LevelAnnealer {
  public:
    LevelAnnealer(const Level& level, LevelSchedule start, const LevelTask& task)
        : level_(level), task_(task), random_(task.seed), now_(std::move(start)) {
        cost_ = level.cost_of(now_, task.budget);
        best_ = now_;
        best_cost_ = cost_;
        time_scale_ = 1.0 / static_cast<double>(std::max<std::int64_t>(1, cost_.time));
        excess_scale_ = 1.0 / static_cast<double>(std::max<std::int64_t>(1, task.budget));
    }

    LevelSchedule run(const Deadline& deadline) {
        for (std::uint64_t move = 0; move < task_.moves; ++move) {
            if (move % kClockPeriod == 0) {
                if (deadline.passed()) break;
                const double done = static_cast<double>(move) / static_cast<double>(task_.moves);
                heat_ =
                    std::pow(kEndHeat / kStartHeat, done) * kStartHeat / (2.0 * std::max(1, level_.size()));
            }
            step();
        }
        return std::move(best_);
    }

  private:
    double value(const LevelCost& cost) const {
        return static_cast<double>(cost.time) * time_scale_ +
               penalty_ * static_cast<double>(cost.excess) * excess_scale_;
    }

    void step() {
        next_ = now_;
        if (!change(next_)) return;
        const double most = value(cost_) - heat_ * std::log(random_.unit());
        // Most moves make the schedule too slow even if it fits. The time is tested first, because it is much
        // cheaper to compute than the memory.
        if (value({.time = level_.time_of(next_)}) <= most) {
            const LevelCost cost = level_.cost_of(next_, task_.budget);
            if (!cost.executable) return;
            if (value(cost) <= most) {
                std::swap(now_, next_);
                cost_ = cost;
            }
        }
        note();
    }

    void note() {
        within_ += cost_.excess == 0;
        if (++seen_ == kAdaptEvery) {
            const double share = static_cast<double>(within_) / seen_;
            if (share < 0.15) penalty_ = std::min(1e4, penalty_ * 1.2);
            if (share > 0.4) penalty_ = std::max(1e-4, penalty_ / 1.2);
            seen_ = within_ = 0;
        }
        const auto rank = [](const LevelCost& c) {
            return c.excess > 0 ? std::tuple(1, c.excess, c.time) : std::tuple(0, c.time, c.peak);
        };
        if (rank(cost_) >= rank(best_cost_)) return;
        best_ = now_;
        best_cost_ = cost_;
    }

    bool change(LevelSchedule& schedule) {
        const double draw = random_.unit();
        if (draw < 0.45) return change_option(schedule);
        if (draw < 0.65) return save_later(schedule);
        if (draw < 0.80) return save_earlier(schedule);
        if (draw < 0.88) return remove_advance(schedule);
        if (draw < 0.94) return advance_again(schedule);
        return move_visit(schedule);
    }

    int random_block() { return random_.below(level_.size()); }

    bool change_option(LevelSchedule& schedule) {
        const int block = random_block();
        const auto count = static_cast<int>(level_.options(block).size());
        if (count < 2) return false;
        int chosen = schedule.option[block];
        if (random_.below(2) == 0) {
            chosen += random_.below(2) == 0 ? 1 : -1;  // the next faster or slower option
            if (chosen < 0 || chosen >= count) return false;
        } else {
            chosen = random_.below(count);
        }
        if (chosen == schedule.option[block]) return false;
        const int before = std::exchange(schedule.option[block], chosen);
        if (!task_.group || random_.below(4) > 0) return true;
        for (int other = 0; other < level_.size(); ++other)
            if ((*task_.group)[other] == (*task_.group)[block] && schedule.option[other] == before)
                schedule.option[other] = chosen;
        return true;
    }

    static int find(const LevelSchedule& schedule, Visit visit) {
        return static_cast<int>(std::find(schedule.visits.begin(), schedule.visits.end(), visit) -
                                schedule.visits.begin());
    }

    static void insert(LevelSchedule& schedule, int at, Visit visit) {
        schedule.visits.insert(schedule.visits.begin() + at, visit);
    }

    /// Replaces the visit that saves the block by an advance. The block is saved later: right before its
    /// backward visit, or at some visit in between.
    bool save_later(LevelSchedule& schedule) {
        const int block = random_block();
        const int saved = find(schedule, {block, Visit::Kind::save});
        const int backward = find(schedule, {block, Visit::Kind::backward});
        if (backward <= saved + 1) return false;
        const int at = random_.below(3) > 0 ? backward : saved + 2 + random_.below(backward - saved - 1);
        schedule.visits[saved].kind = Visit::Kind::advance;
        insert(schedule, at, {block, Visit::Kind::save});
        int fed = 0;
        feed(schedule, at, block, fed);
        return true;
    }

    /// Lets some blocks advance right before a visit. The tensors that these blocks make then need not be
    /// kept from an earlier visit until this one.
    void feed(LevelSchedule& schedule, int at, int block, int& fed) {
        for (const int maker : level_.makers_of(block)) {
            if (fed >= kMostFeeders || random_.below(2) == 0) continue;
            ++fed;
            insert(schedule, at, {maker, Visit::Kind::advance});
            feed(schedule, at, maker, fed);
        }
    }

    /// Reverses `save_later`: the last advance before the save becomes the save.
    bool save_earlier(LevelSchedule& schedule) {
        const int block = random_block();
        const int saved = find(schedule, {block, Visit::Kind::save});
        for (int at = saved; at-- > 0;) {
            if (schedule.visits[at] != Visit{block, Visit::Kind::advance}) continue;
            schedule.visits[at].kind = Visit::Kind::save;
            schedule.visits.erase(schedule.visits.begin() + saved);
            return true;
        }
        return false;
    }

    bool remove_advance(LevelSchedule& schedule) {
        const int start = random_.below(static_cast<int>(schedule.visits.size()));
        for (std::size_t i = 0; i < schedule.visits.size(); ++i) {
            const std::size_t at = (start + i) % schedule.visits.size();
            if (schedule.visits[at].kind != Visit::Kind::advance) continue;
            schedule.visits.erase(schedule.visits.begin() + static_cast<std::ptrdiff_t>(at));
            return true;
        }
        return false;
    }

    /// Inserts an advance right before a visit. The visited block advances, or a block whose tensors the
    /// visited block reads.
    bool advance_again(LevelSchedule& schedule) {
        const int at = random_.below(static_cast<int>(schedule.visits.size()));
        const Visit visit = schedule.visits[at];
        if (visit.kind == Visit::Kind::outside) return false;
        const int reader = visit.block;
        int maker = reader;
        if (visit.kind != Visit::Kind::backward || random_.below(2) == 0) {
            const auto& makers = level_.makers_of(reader);
            if (makers.empty()) return false;
            maker = makers[random_.below(makers.size())];
        }
        insert(schedule, at, {maker, Visit::Kind::advance});
        return true;
    }

    bool move_visit(LevelSchedule& schedule) {
        const int count = static_cast<int>(schedule.visits.size());
        const int from = random_.below(count);
        const int to = random_.below(3) > 0 ? std::clamp(from - 3 + random_.below(7), 0, count - 1)
                                            : random_.below(count);
        if (from == to || schedule.visits[from].kind == Visit::Kind::outside) return false;
        const auto first = schedule.visits.begin();
        from < to ? std::rotate(first + from, first + from + 1, first + to + 1)
                  : std::rotate(first + to, first + from, first + from + 1);
        return in_order(schedule, schedule.visits[to].block);
    }

    /// Says whether the block's backward comes after its save.
    static bool in_order(const LevelSchedule& schedule, int block) {
        return find(schedule, {block, Visit::Kind::save}) < find(schedule, {block, Visit::Kind::backward});
    }

    const Level& level_;
    const LevelTask& task_;
    annealing::Random random_;
    LevelSchedule now_, next_, best_;
    LevelCost cost_, best_cost_;
    double time_scale_ = 1, excess_scale_ = 1;
    double penalty_ = 1, heat_ = 1;
    int seen_ = 0, within_ = 0;
};

}  // namespace

LevelSchedule search_level(const Level& level, LevelSchedule start, const LevelTask& task,
                           const Deadline& deadline) {
    return LevelAnnealer(level, std::move(start), task).run(deadline);
}

}  // namespace rematlas::hierarchical
