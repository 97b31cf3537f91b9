// A random number generator for the search: small, fast and the same on every machine.
#pragma once

#include <cstdint>

namespace rematlas::annealing {

/// xoshiro256++ (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021), seeded by
/// splitmix64.
class Random {
  public:
    explicit Random(std::uint64_t seed) {
        for (std::uint64_t& word : state_) {
            seed += 0x9e3779b97f4a7c15u;
            std::uint64_t z = seed;
            z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
            z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
            word = z ^ (z >> 31);
        }
    }

    std::uint64_t bits() {
        const std::uint64_t result = rotate(state_[0] + state_[3], 23) + state_[0];
        const std::uint64_t t = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= t;
        state_[3] = rotate(state_[3], 45);
        return result;
    }

    /// Returns a uniform number in [0, n); n must be positive.
    int below(std::size_t n) {
        return static_cast<int>(((bits() >> 32) * static_cast<std::uint64_t>(n)) >> 32);
    }

    /// Returns a uniform number in (0, 1].
    double unit() { return static_cast<double>((bits() >> 11) + 1) * 0x1.0p-53; }

    bool chance(double p) { return unit() <= p; }

  private:
    static std::uint64_t rotate(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
    std::uint64_t state_[4];
};

}  // namespace rematlas::annealing
