// A hash index that finds equal items. The items themselves are kept in a vector of the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rematlas {

/// Mixes all bits of a number.
constexpr std::uint64_t mixed(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/// A hash table with open addressing. Each place takes eight bytes, and at most three quarters of the places
/// are used.
class DistinctIndex {
  public:
    /// Returns the number of the item for which `same(number)` holds. If there is no such item, stores `next`
    /// under this hash and returns `next`.
    template <class Same>
    std::uint32_t find_or_add(std::uint64_t hash, std::uint32_t next, const Same& same) {
        if (4 * (count_ + 1) > 3 * places_.size()) grow();
        const auto short_hash = static_cast<std::uint32_t>(hash >> 32);
        std::size_t at = short_hash & (places_.size() - 1);
        for (; places_[at].number != kNone; at = (at + 1) & (places_.size() - 1))
            if (places_[at].hash == short_hash && same(places_[at].number)) return places_[at].number;
        places_[at] = {short_hash, next};
        ++count_;
        return next;
    }

  private:
    static constexpr std::uint32_t kNone = 0xffffffff;
    struct Place {
        std::uint32_t hash = 0, number = kNone;
    };

    void grow() {
        std::vector<Place> old(places_.empty() ? 64 : 2 * places_.size());
        old.swap(places_);
        for (const Place& place : old) {
            if (place.number == kNone) continue;
            std::size_t at = place.hash & (places_.size() - 1);
            while (places_[at].number != kNone) at = (at + 1) & (places_.size() - 1);
            places_[at] = place;
        }
    }

    std::vector<Place> places_;
    std::size_t count_ = 0;
};

}  // namespace rematlas
