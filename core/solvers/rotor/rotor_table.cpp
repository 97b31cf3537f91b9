#include "core/solvers/rotor/rotor_table.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace rematlas {
namespace {

const TradeOffs kNothing{{0, 0}};
constexpr int kShort = 16;  // in parts of at most this many stages, all splits are tried

/// Returns how many of the steps before `end` need at most m bytes. The caller must know that the first
/// `from` steps do.
template <class Steps>
std::size_t steps_within(const Steps& steps, std::int64_t m, std::size_t from, std::size_t end) {
    const auto first = steps.begin() + static_cast<std::ptrdiff_t>(from);
    const auto last = steps.begin() + static_cast<std::ptrdiff_t>(end);
    return static_cast<std::size_t>(
        std::upper_bound(first, last, m,
                         [](std::int64_t bytes, const auto& step) { return bytes < step.bytes; }) -
        steps.begin());
}

template <class Steps>
std::size_t steps_within(const Steps& steps, std::int64_t m) {
    return steps_within(steps, m, 0, steps.size());
}

std::int64_t time_within(const TradeOffs& steps, std::int64_t m) {
    const std::size_t end = steps_within(steps, m);
    return end == 0 ? RotorTable::kNever : steps[end - 1].time;
}

/// Returns the bytes of step i plus `beside`, or kNever if there is no such step.
std::int64_t bytes_at(const TradeOffs& steps, std::size_t i, std::int64_t beside) {
    return i < steps.size() ? steps[i].bytes + beside : RotorTable::kNever;
}

/// The forward run from stage s, the first one of a part, to the checkpoint before stage `next`: its peak
/// bytes and its time.
struct Advance {
    std::int64_t peak = 0, time = 0;

    void extend(const std::vector<RotorStage>& stages, int s, int next) {
        const RotorStage& stage = stages[next - 1];
        peak = std::max(peak, next - 1 == s ? stage.advance_peak : stage.advance_peak_with_input);
        time += stage.advance_time;
    }
};

using StageFigures = std::vector<std::int64_t>;

/// Returns all bytes and times of a stage that the dynamic program reads. If the stage is the first of a
/// part, the program reads neither the peak with the input nor the bytes that the backward group leaves.
StageFigures figures_of(const RotorStage& stage, bool first) {
    StageFigures figures{stage.advance_time,
                         stage.boundary,
                         stage.gradients,
                         stage.advance_peak,
                         first ? 0 : stage.advance_peak_with_input,
                         first ? 0 : stage.left};
    for (const RotorWay& way : stage.ways)
        figures.insert(figures.end(),
                       {way.save_time, way.save_last_time, way.save_beside_time, way.backward_time, way.saved,
                        way.save_peak, way.save_beside_peak, way.backward_peak});
    return figures;
}

/// Returns an id of the kind of each stage; equal stages have equal ids.
std::vector<int> kinds_of(const std::vector<RotorStage>& stages, bool first) {
    std::map<StageFigures, int> known;
    std::vector<int> kinds;
    for (const RotorStage& stage : stages)
        kinds.push_back(
            known.try_emplace(figures_of(stage, first), static_cast<int>(known.size())).first->second);
    return kinds;
}

/// Follows the choices of the table and writes the runs.
class RotorWriter {
  public:
    RotorWriter(const RotorChain& chain, const RotorTable& table)
        : chain_(chain), table_(table), runs_(chain) {}

    RunSequence write(std::int64_t bytes) {
        group_range(0, table_.last(), bytes, false);
        return runs_.take();
    }

  private:
    /// Writes the runs of the stages s .. t within m bytes. The depth of the recursion is at most the number
    /// of stages.
    void group_range(int s, int t, std::int64_t m, bool present) {
        present = present && !table_.dropped(s, t, m);
        const int next = table_.choice(s, t, m, present);
        if (next < 0) {
            const auto index = static_cast<std::size_t>(-1 - next);
            const RotorWay& way = chain_.stages[s].ways[index];
            if (s < t) {
                runs_.forward(s, way.save);
                group_range(s + 1, t, m - way.saved, present);
            } else {
                runs_.forward(s, present ? way.save_beside : way.save_last);
            }
            runs_.backward(s, index);
            return;
        }
        for (int i = s; i < next; ++i) runs_.forward(i, chain_.stages[i].advance);
        group_range(next, t, m - chain_.stages[next - 1].boundary, present);
        group_range(s, next - 1, m - table_.left_by(next, t), true);
    }

    const RotorChain& chain_;
    const RotorTable& table_;
    ChainRuns runs_;
};

}  // namespace

// Two parts are equal if they are equal without their last stages and these stages are equal. So the id of a
// part follows from the id of the part without its last stage and from the kind of that stage.
EqualParts::EqualParts(const std::vector<RotorStage>& stages) {
    const std::vector<int> first = kinds_of(stages, true), other = kinds_of(stages, false);
    std::unordered_map<std::uint64_t, int> known;
    const auto number = [&](int before, int kind) {
        const auto key = static_cast<std::uint64_t>(before + 1) << 32 | static_cast<std::uint32_t>(kind);
        const auto [at, fresh] = known.try_emplace(key, count_);
        count_ += fresh;
        return at->second;
    };
    part_.reserve(stages.size() * (stages.size() + 1) / 2);
    for (std::size_t t = 0; t < stages.size(); ++t) {
        const std::size_t row = part_.size() - t;
        for (std::size_t s = 0; s < t; ++s) part_.push_back(number(part_[row + s], other[t]));
        part_.push_back(number(-1, first[t]));
    }
}

RotorTable::RotorTable(const std::vector<RotorStage>& stages, std::int64_t most_bytes, int slots,
                       Splits splits)
    : stages_(stages),
      n_(static_cast<int>(stages.size())),
      most_bytes_(most_bytes),
      parts_(stages),
      absent_(static_cast<std::size_t>(parts_.count())),
      present_(absent_.size()) {
    std::size_t most_ways = 0;
    for (const RotorStage& stage : stages) {
        left_before_.push_back(left_before_.back() + stage.left);
        std::int64_t kept = kNever;
        for (const RotorWay& way : stage.ways) kept = std::min(kept, way.save_time + way.backward_time);
        kept_before_.push_back(kept_before_.back() + kept);
        most_ways = std::max(most_ways, stage.ways.size());
    }
    std::vector<bool> known(absent_.size());
    for (int t = 0; t < n_; ++t) {
        for (int s = 0; s <= t; ++s) {
            const auto part = static_cast<std::size_t>(parts_.of(s, t));
            if (!known[part]) splits_ += t - s;
            known[part] = true;
        }
    }
    const std::int64_t work = splits_ * static_cast<std::int64_t>(most_ways);
    exhaustive_ = splits == Splits::all || (splits == Splits::by_size && work <= kMostSplits);
    const std::int64_t parts = std::max(parts_.count(), 1), wanted = slots;
    if (exhaustive_) exact_ = static_cast<std::size_t>(std::min(wanted, kStepsOfAll / parts));
    fineness_ = std::max<std::int64_t>(std::min(2 * wanted, kFinenessOfAll / parts), 20);
    absent_at_.resize(absent_.size());
    present_at_.resize(absent_.size());
}

bool RotorTable::fill(const Deadline& deadline) {
    std::vector<bool> filled(absent_.size());
    for (int length = 1; length <= n_; ++length) {
        for (int s = 0; s + length <= n_; ++s) {
            const int t = s + length - 1;
            const auto part = static_cast<std::size_t>(parts_.of(s, t));
            if (filled[part]) continue;
            filled[part] = true;
            if (!fill_part(s, t, false, deadline) || !fill_part(s, t, true, deadline)) return false;
        }
    }
    return true;
}

std::int64_t RotorTable::least_time(int s, int t, std::int64_t m, bool present) const {
    return time_within(of(s, t, present), m);
}

std::int64_t RotorTable::Way::time_in(std::int64_t m) const {
    if (m < least) return kNever;
    const std::int64_t first = time_within(above, m - held), second = time_within(below, m - left);
    return first == kNever || second == kNever ? kNever : first + second + time;
}

int RotorTable::choice(int s, int t, std::int64_t m, bool present) const {
    const std::int64_t wanted = least_time(s, t, m, present);
    const std::vector<RotorWay>& ways = stages_[s].ways;
    for (std::size_t i = 0; i < ways.size(); ++i)
        if (keeping(s, t, present, ways[i]).time_in(m) <= wanted) return -1 - static_cast<int>(i);
    Advance advance;
    for (int next = s + 1; next <= t; ++next) {
        advance.extend(stages_, s, next);
        const Way way{of(next, t, present), of(s, next - 1, true), stages_[next - 1].boundary,
                      left_by(next, t),     advance.time,          held(t, present) + advance.peak};
        if (way.time_in(m) <= wanted) return next;
    }
    return -1;
}

/// Returns the bytes that are held while the stages up to t run forward: the gradients of the groups above t,
/// and a_t if it is present.
std::int64_t RotorTable::held(int t, bool present) const {
    return stages_[t].gradients + (present ? stages_[t].boundary : 0);
}

/// Returns the time of the part if everything is kept.
std::int64_t RotorTable::kept_time(int s, int t) const {
    std::int64_t last = kNever;
    for (const RotorWay& way : stages_[t].ways)
        last = std::min(last, std::min(way.save_last_time, way.save_beside_time) + way.backward_time);
    return kept_before_[t] - kept_before_[s] + last;
}

/// Returns the way to run the part in which stage s runs by `way` and keeps every tensor that its backward
/// group reads.
RotorTable::Way RotorTable::keeping(int s, int t, bool present, const RotorWay& way) const {
    const bool beside = present && s == t;
    const std::int64_t least = std::max(held(t, present) + (beside ? way.save_beside_peak : way.save_peak),
                                        way.backward_peak + left_by(s + 1, t));
    if (s < t)
        return {of(s + 1, t, present), kNothing, way.saved, 0, way.save_time + way.backward_time, least};
    const std::int64_t forward = beside ? way.save_beside_time : way.save_last_time;
    return {kNothing, kNothing, 0, 0, forward + way.backward_time, least};
}

/// Computes the trade-offs of a part. Returns false if the deadline passed.
bool RotorTable::fill_part(int s, int t, bool present, const Deadline& deadline) {
    part_.clear();
    for (const RotorWay& way : stages_[s].ways) offer(keeping(s, t, present, way));
    if (present) offer({of(s, t, false), kNothing});
    if (exhaustive_ || t - s < kShort) {
        if (!offer_all_splits(s, t, present, deadline)) return false;
    } else {
        offer_near_splits(s, t, present);
    }
    const auto part = static_cast<std::size_t>(parts_.of(s, t));
    (present ? present_ : absent_)[part] = thinned(kept_time(s, t));
    if (!exhaustive_) (present ? present_at_ : absent_at_)[part] = splits_of(s);
    return !deadline.passed();
}

bool RotorTable::offer_all_splits(int s, int t, bool present, const Deadline& deadline) {
    Advance advance;
    for (int next = s + 1; next <= t; ++next) {
        if (next % 8 == 0 && deadline.passed()) return false;
        advance.extend(stages_, s, next);
        offer({of(next, t, present), of(s, next - 1, true), stages_[next - 1].boundary, left_by(next, t),
               advance.time, held(t, present) + advance.peak, next});
    }
    return true;
}

/// Offers only splits that are useful for the part without its first or its last stage. The least bytes with
/// which a split is useful do not depend on `most_bytes`, so tables for different `most_bytes` agree.
void RotorTable::offer_near_splits(int s, int t, bool present) {
    worth_.assign(static_cast<std::size_t>(t - s + 2), kNever);
    const auto note = [&](int from, int part) {
        for (const Split& split : (present ? present_at_ : absent_at_)[static_cast<std::size_t>(part)]) {
            std::int64_t& worth = worth_[static_cast<std::size_t>(from + split.ahead)];
            worth = std::min(worth, split.bytes);
        }
    };
    note(0, parts_.of(s, t - 1));
    note(1, parts_.of(s + 1, t));
    Advance advance;
    for (int next = s + 1; next <= t; ++next) {
        advance.extend(stages_, s, next);
        const std::int64_t worth = worth_[static_cast<std::size_t>(next - s)];
        if (worth == kNever) continue;
        offer({of(next, t, present), of(s, next - 1, true), stages_[next - 1].boundary, left_by(next, t),
               advance.time, std::max(worth, held(t, present) + advance.peak), next});
    }
}

/// Walks along the steps of the way and notes each step that is faster than the part's best so far. Several
/// steps are skipped at once if even the last of them is not faster. The number of skipped steps doubles
/// after a success and is halved after a failure.
void RotorTable::offer(const Way& way) {
    if (way.above.empty() || way.below.empty()) return;
    std::int64_t m = std::max({way.least, way.above[0].bytes + way.held, way.below[0].bytes + way.left});
    std::size_t i = steps_within(way.above, m - way.held) - 1, j = steps_within(way.below, m - way.left) - 1,
                k = steps_within(part_, m), jump = way.above.size() + way.below.size();
    better_.clear();
    while (m <= most_bytes_) {
        const std::int64_t known = k == 0 ? kNever : part_[k - 1].time;
        const std::size_t i_end = std::min(i + jump, way.above.size()),
                          j_end = std::min(j + jump, way.below.size());
        const std::int64_t least = way.time + way.above[i_end - 1].time + way.below[j_end - 1].time;
        if (least < known && jump > 1) {
            jump /= 2;
            continue;
        }
        if (least < known && (better_.empty() || least < better_.back().time))
            better_.push_back({m, least, way.next});
        const std::int64_t above = bytes_at(way.above, i_end, way.held),
                           below = bytes_at(way.below, j_end, way.left);
        m = std::min(above, below);
        if (m == kNever) break;
        i = above == m ? i_end : steps_within(way.above, m - way.held, i, i_end) - 1;
        j = below == m ? j_end : steps_within(way.below, m - way.left, j, j_end) - 1;
        while (k < part_.size() && part_[k].bytes <= m) ++k;
        if (least >= known) jump *= 2;
    }
    if (!better_.empty()) merge_better();
}

void RotorTable::merge_better() {
    merged_.clear();
    const auto add = [&](const Step& step) {
        if (!merged_.empty() && merged_.back().time <= step.time) return;
        if (!merged_.empty() && merged_.back().bytes == step.bytes) merged_.pop_back();
        merged_.push_back(step);
    };
    auto known = part_.begin();
    for (const Step& step : better_) {
        while (known != part_.end() && known->bytes <= step.bytes) add(*known++);
        add(step);
    }
    while (known != part_.end()) add(*known++);
    part_.swap(merged_);
}

/// Returns the steps of the current part without the steps that gain too little; the first `exact_` steps are
/// all kept. A later step must be faster than the last kept step by (last - least) / f, limited to at most
/// last / (8 f) and at least last / (40 f). Here `last` is the time of the last kept step, `least` the time
/// with everything kept, and f is `fineness_`. The remaining steps have exact bytes and times, and do not
/// depend on steps with more bytes.
TradeOffs RotorTable::thinned(std::int64_t least) {
    std::size_t kept = 0;
    std::int64_t last = kNever;
    for (const Step& step : part_) {
        const std::int64_t gain =
            std::max(last / (40 * fineness_), std::min(last / (8 * fineness_), (last - least) / fineness_));
        if (kept >= exact_ && last != kNever && step.time > last - gain) continue;
        last = step.time;
        part_[kept++] = step;
    }
    part_.resize(kept);
    TradeOffs steps;
    steps.reserve(part_.size());
    for (const Step& step : part_) steps.push_back({step.bytes, step.time});
    return steps;
}

/// Returns the splits that the steps of the current part use.
std::vector<RotorTable::Split> RotorTable::splits_of(int s) const {
    std::vector<Split> splits;
    for (const Step& step : part_) {
        const auto known = [&](const Split& split) { return split.ahead == step.next - s; };
        if (step.next >= 0 && std::none_of(splits.begin(), splits.end(), known))
            splits.push_back({step.next - s, step.bytes});
    }
    return splits;
}

RunSequence runs_within(const RotorChain& chain, const RotorTable& table, std::int64_t bytes) {
    return RotorWriter(chain, table).write(bytes);
}

}  // namespace rematlas
