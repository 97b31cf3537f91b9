// Finds races with vector clocks. A race is a pair of accesses to the same bytes, at least one of them a
// write, whose order nothing determines.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/simgpu/engine.h"

namespace simgpu {

/// For each stream, by its number: how many pieces of its work are known to be done.
class Clock {
  public:
    std::uint64_t operator[](std::size_t stream) const { return stream < ticks_.size() ? ticks_[stream] : 0; }
    void set(std::size_t stream, std::uint64_t tick);
    void join(const Clock& other);

  private:
    std::vector<std::uint64_t> ticks_;
};

/// The last accesses to each range of bytes.
class History {
  public:
    /// Notes the accesses of a piece of work, whose number in its stream is `clock[stream]`. Returns the
    /// first pair of unordered accesses as one line, or nullopt if there is none.
    std::optional<std::string> note(const std::vector<Access>& accesses, std::size_t stream,
                                    const Clock& clock, const std::string& name);
    void forget(std::uintptr_t begin, std::uintptr_t end);

  private:
    struct Touch {
        std::size_t stream = 0;
        std::uint64_t tick = 0;
        std::uint32_t name = 0;
    };
    struct Segment {
        std::uintptr_t end = 0;
        std::optional<Touch> write;
        std::vector<Touch> reads;
    };

    void split(std::uintptr_t at);
    std::uint32_t number_of(const std::string& name);

    std::map<std::uintptr_t, Segment> segments_;  ///< by their first byte
    std::map<std::string, std::uint32_t> numbers_;
    std::vector<std::string> names_;
};

}  // namespace simgpu
