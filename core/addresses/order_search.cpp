#include "core/addresses/order_search.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace rematlas {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

enum class Fit : std::uint8_t { lowest, tightest, highest, touching };

/// The blocks that are placed before all others.
enum class Before : std::uint8_t { nobody, long_lived, held_at_the_end, wide };

/// The kinds of fit for blocks that are held at the end, for other long-lived blocks, and for all other
/// blocks.
struct Fits {
    Fit at_the_end, long_lived, rest;
};

constexpr Fits kFits[] = {
    {Fit::lowest, Fit::lowest, Fit::lowest},     {Fit::tightest, Fit::tightest, Fit::tightest},
    {Fit::lowest, Fit::highest, Fit::highest},   {Fit::lowest, Fit::lowest, Fit::highest},
    {Fit::lowest, Fit::highest, Fit::lowest},    {Fit::touching, Fit::touching, Fit::touching},
    {Fit::lowest, Fit::touching, Fit::touching}, {Fit::lowest, Fit::lowest, Fit::touching},
};

struct Recipe {
    std::int64_t by_width = 0, by_length = 0;  ///< weights of the logarithms of width and length
    std::int64_t by_first = 0, by_last = 0;    ///< weights of the first and last moment
    Before before = Before::nobody;
    std::int64_t long_lived = 0;  ///< lengths with at least this logarithm count as long
    std::int64_t wide = 0;        ///< widths with at least this logarithm count as wide
    Fits fits = kFits[0];
    std::int64_t ceiling = 0;  ///< how far the ceiling is above the lower bound `floor` on the top, in units
                               ///< of `floor` / 4096
};

struct Attempt {
    Recipe recipe = {};
    std::vector<std::int64_t> blame = {};  ///< per block: an addition to its urgency; if empty, nothing is
                                           ///< added
    Packing packing = {};
};

/// Returns 256 times the logarithm to base 2, interpolated linearly between powers of two. The result is the
/// same on every machine.
std::int64_t logarithm(std::int64_t value) {
    const auto v = static_cast<std::uint64_t>(std::max<std::int64_t>(value, 1));
    const int power = std::bit_width(v) - 1;
    const std::uint64_t part = power >= 8 ? v >> (power - 8) : v << (8 - power);
    return power * 256 + static_cast<std::int64_t>(part & 255);
}

class OrderSearch {
  public:
    OrderSearch(const MemoryBlocks& blocks, std::int64_t floor, std::uint64_t seed)
        : blocks_(blocks), floor_(floor), grain_(grain(blocks)), random_(seed) {
        for (std::size_t b = 0; b < blocks.size(); ++b) {
            Measure m{.first = blocks[b].front().first, .last = blocks[b].back().last};
            for (const BlockSegment& s : blocks[b]) m.width = std::max(m.width, s.width);
            m.log_width = logarithm(m.width);
            m.log_length = logarithm(m.last - m.first + 1);
            moments_ = std::max(moments_, m.last + 1);
            measures_.push_back(m);
        }
    }

    Packing run(std::int64_t effort) {
        try_plain_recipes();
        while (best().top > floor_ && work_ < effort) {
            Attempt next = random(10) < 3 ? Attempt{any_recipe()} : mutated(elite_[random(elite_.size())]);
            attempt(std::move(next));
        }
        return best();
    }

    std::int64_t work() const { return work_; }

  private:
    static constexpr std::size_t kElite = 4;
    static constexpr std::int64_t kRank = std::int64_t{1} << 40;  ///< added to the urgency of blocks that are
                                                                  ///< placed before all others; larger than
                                                                  ///< any weighted sum

    struct Measure {
        std::int64_t width = 0, log_width = 0, log_length = 0;
        std::int32_t first = 0, last = 0;
    };
    struct Placed {
        std::int64_t low, high;
        std::int32_t first, last;
    };

    const Packing& best() const { return elite_.front().packing; }

    void try_plain_recipes() {
        const Recipe plain[] = {
            {.by_width = 1},  {.by_length = 1}, {.by_width = 1, .by_length = 1},
            {.by_first = -1}, {.by_last = 1},
        };
        for (Recipe recipe : plain) {
            for (const Fits& fits : {kFits[0], kFits[1]}) {
                recipe.fits = fits;
                attempt({recipe});
                if (best().top <= floor_) return;
            }
        }
    }

    Recipe any_recipe() {
        const auto weight = [this] { return random(3) == 0 ? 0 : between(-32, 64); };
        const auto moment_weight = [this] { return random(5) < 2 ? 0 : between(-64, 64); };
        Recipe recipe{.by_width = weight(), .by_length = weight()};
        recipe.by_first = moment_weight();
        recipe.by_last = moment_weight();
        const std::size_t before = random(6);
        recipe.before = before < 4 ? static_cast<Before>(before) : Before::nobody;
        recipe.long_lived = between(0, logarithm(moments_));
        recipe.wide = logarithm(floor_) - between(5 * 256, 11 * 256);
        recipe.fits = kFits[random(std::size(kFits))];
        recipe.ceiling = between(0, 80);
        return recipe;
    }

    Attempt mutated(const Attempt& parent) {
        Attempt child{parent.recipe, parent.blame};
        if (random(5) < 2) {
            blame_what_is_too_high(parent, child.blame);
            return child;
        }
        const Recipe other = any_recipe();
        const auto change = [this](std::int64_t& weight, std::int64_t fresh) {
            weight = random(2) == 0 ? fresh : weight + between(-8, 8);
        };
        for (std::size_t changes = 1 + random(2); changes > 0; --changes) {
            switch (random(8)) {
                case 0:
                    change(child.recipe.by_width, other.by_width);
                    break;
                case 1:
                    change(child.recipe.by_length, other.by_length);
                    break;
                case 2:
                    change(child.recipe.by_first, other.by_first);
                    break;
                case 3:
                    change(child.recipe.by_last, other.by_last);
                    break;
                case 4:
                    child.recipe.before = other.before;
                    break;
                case 5:
                    child.recipe.long_lived = other.long_lived;
                    child.recipe.wide = other.wide;
                    break;
                case 6:
                    child.recipe.fits = other.fits;
                    break;
                default:
                    child.recipe.ceiling = other.ceiling;
                    break;
            }
        }
        return child;
    }

    void blame_what_is_too_high(const Attempt& parent, std::vector<std::int64_t>& blame) {
        blame.resize(blocks_.size(), 0);
        const std::int64_t amount = 1 + between(0, (std::int64_t{256} << random(10)) - 1);
        const std::int64_t above = random(2) == 0 ? floor_ : parent.packing.top - 1;
        const std::size_t one_in = 1 + random(4);
        for (std::size_t b = 0; b < blocks_.size(); ++b) {
            if (parent.packing.offsets[b] + measures_[b].width > above && random(one_in) == 0)
                blame[b] += amount;
        }
    }

    void attempt(Attempt&& next) {
        const std::int64_t limit = elite_.size() < kElite ? kNoLimit : elite_.back().packing.top;
        if (!place_all(next, limit)) return;
        const auto at =
            std::upper_bound(elite_.begin(), elite_.end(), next.packing.top,
                             [](std::int64_t top, const Attempt& other) { return top < other.packing.top; });
        elite_.insert(at, std::move(next));
        if (elite_.size() > kElite) elite_.pop_back();
    }

    bool held_at_the_end(std::size_t block) const { return measures_[block].last == moments_ - 1; }

    std::int64_t urgency(const Attempt& attempt, std::size_t block) const {
        const Recipe& recipe = attempt.recipe;
        const Measure& m = measures_[block];
        std::int64_t sum = recipe.by_width * m.log_width + recipe.by_length * m.log_length;
        sum += (recipe.by_first * m.first + recipe.by_last * m.last) * 2048 / moments_;
        if (!attempt.blame.empty()) sum += attempt.blame[block];
        const bool before = (recipe.before == Before::long_lived && m.log_length >= recipe.long_lived) ||
                            (recipe.before == Before::held_at_the_end && held_at_the_end(block)) ||
                            (recipe.before == Before::wide && m.log_width >= recipe.wide);
        return before ? sum + kRank : sum;
    }

    Fit fit_for(const Recipe& recipe, std::size_t block) const {
        if (held_at_the_end(block)) return recipe.fits.at_the_end;
        return measures_[block].log_length >= recipe.long_lived ? recipe.fits.long_lived : recipe.fits.rest;
    }

    /// Places all blocks by the recipe. Returns false as soon as the top reaches `limit`.
    bool place_all(Attempt& attempt, std::int64_t limit) {
        urgencies_.clear();
        for (std::size_t b = 0; b < blocks_.size(); ++b)
            urgencies_.emplace_back(-urgency(attempt, b), static_cast<std::int32_t>(b));
        std::sort(urgencies_.begin(), urgencies_.end());
        ceiling_ = floor_ + floor_ / 4096 * attempt.recipe.ceiling / grain_ * grain_;
        placed_.clear();
        attempt.packing = {std::vector<std::int64_t>(blocks_.size()), 0};
        for (const auto& [urgency, b] : urgencies_) {
            if (measures_[b].width == 0) continue;
            const auto segments = blocks_[b];
            const std::int64_t offset = segments.size() == 1
                                            ? offset_for(segments[0], fit_for(attempt.recipe, b))
                                            : lowest_offset_for(segments);
            attempt.packing.offsets[b] = offset;
            attempt.packing.top = std::max(attempt.packing.top, offset + measures_[b].width);
            if (attempt.packing.top >= limit) return false;
            for (const BlockSegment& s : segments) {
                if (s.width > 0) insert({offset, offset + s.width, s.first, s.last});
            }
        }
        return true;
    }

    void insert(const Placed& p) {
        const auto at = std::upper_bound(placed_.begin(), placed_.end(), p.low,
                                         [](std::int64_t low, const Placed& q) { return low < q.low; });
        placed_.insert(at, p);
    }

    static bool meet(const Placed& p, const BlockSegment& s) {
        return p.last >= s.first && p.first <= s.last;
    }
    /// Returns the number of moments at which both the placed block and the segment live.
    static std::int64_t together(const Placed& p, const BlockSegment& s) {
        return std::min(p.last, s.last) - std::max(p.first, s.first) + 1;
    }

    std::int64_t offset_for(const BlockSegment& s, Fit fit) {
        if (fit == Fit::touching) return touching_offset_for(s);
        std::int64_t free_from = 0, best = -1, tightest = kNoLimit;
        std::size_t i = 0;
        for (; i < placed_.size(); ++i) {
            const Placed& p = placed_[i];
            if (!meet(p, s)) continue;
            const std::int64_t gap = p.low - free_from;
            if (gap >= s.width) {
                if (fit == Fit::highest)
                    best = p.low - s.width;
                else if (gap < tightest) {
                    best = free_from;
                    tightest = gap;
                    if (fit == Fit::lowest || gap == s.width) break;
                }
            }
            free_from = std::max(free_from, p.high);
        }
        work_ += static_cast<std::int64_t>(i) + 16;
        if (fit == Fit::highest && free_from + s.width <= ceiling_) return ceiling_ - s.width;
        return best >= 0 ? best : free_from;
    }

    /// Considers the lower and the upper end of each gap. Returns the offset at which the block touches other
    /// blocks, the bottom of the arena or the ceiling for the most moments.
    std::int64_t touching_offset_for(const BlockSegment& s) {
        const std::int64_t always = s.last - s.first + 1;
        std::int64_t free_from = 0, below = always, most = -1, best = 0;
        const auto consider = [&](std::int64_t offset, std::int64_t touches) {
            if (touches > most) best = offset;
            most = std::max(most, touches);
        };
        for (std::size_t i = 0; i <= placed_.size(); ++i) {
            const bool open = i == placed_.size();
            if (!open && !meet(placed_[i], s)) continue;
            const std::int64_t until = open ? std::max(ceiling_, free_from + s.width) : placed_[i].low;
            if (until - free_from >= s.width && (!open || until == ceiling_ || most < 0)) {
                std::int64_t above = open && until == ceiling_ ? always : 0;
                for (std::size_t j = i; j < placed_.size() && placed_[j].low == until; ++j)
                    if (meet(placed_[j], s)) above += together(placed_[j], s);
                const bool exact = until - free_from == s.width;
                consider(free_from, exact ? below + above : below);
                consider(until - s.width, exact ? below + above : above);
            }
            if (open) break;
            if (placed_[i].high > free_from) below = 0;
            if (placed_[i].high >= free_from) below += together(placed_[i], s);
            free_from = std::max(free_from, placed_[i].high);
        }
        work_ += static_cast<std::int64_t>(2 * placed_.size()) + 16;
        return best;
    }

    /// Returns the lowest offset at which a block of several widths overlaps no placed block.
    std::int64_t lowest_offset_for(std::span<const BlockSegment> segments) {
        forbidden_.clear();
        for (const Placed& p : placed_) {
            for (const BlockSegment& s : segments)
                if (s.width > 0 && meet(p, s)) forbidden_.emplace_back(p.low - s.width, p.high);
        }
        std::sort(forbidden_.begin(), forbidden_.end());
        work_ += static_cast<std::int64_t>(placed_.size() * segments.size()) + 16;
        std::int64_t offset = 0;
        for (const auto& [after, until] : forbidden_) {
            if (after >= offset) break;
            offset = std::max(offset, until);
        }
        return offset;
    }

    std::size_t random(std::size_t n) {
        random_ = random_ * 6364136223846793005ull + 1442695040888963407ull;
        return static_cast<std::size_t>((random_ >> 33) % n);
    }
    std::int64_t between(std::int64_t least, std::int64_t most) {
        return least + static_cast<std::int64_t>(random(static_cast<std::size_t>(most - least + 1)));
    }

    const MemoryBlocks& blocks_;
    std::int64_t floor_, grain_, ceiling_ = 0;
    std::int32_t moments_ = 1;
    std::vector<Measure> measures_;
    std::vector<Attempt> elite_;  ///< best first

    std::vector<std::pair<std::int64_t, std::int32_t>> urgencies_;
    std::vector<Placed> placed_;  ///< sorted by lower end
    std::vector<std::pair<std::int64_t, std::int64_t>> forbidden_;
    std::int64_t work_ = 0;
    std::uint64_t random_;
};

}  // namespace

Packing pack_by_orders(const MemoryBlocks& blocks, std::int64_t floor, const SearchLimits& limits,
                       std::int64_t& spent) {
    OrderSearch search(blocks, floor, limits.seed);
    Packing best = search.run(limits.effort);
    spent += search.work();
    return best;
}

}  // namespace rematlas
