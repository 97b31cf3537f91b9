// Measures the times of ops on a device that works asynchronously.
//
// A wall clock around a call measures only the launch. So the program waits for the device in the first runs
// of each kind of call (operator, geometry of the operands, other arguments). The quickest of these runs is
// the cost of all later calls of the kind, which do not wait. (The time of the first run may include the
// loading of the kernel.)
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <cstdint>
#include <optional>
#include <unordered_map>

namespace rematlas {

class OpTimes {
  public:
    /// Returns the kind of a call, whose arguments must be the last values on the stack.
    static std::uint64_t kind_of(const c10::OperatorHandle& op, const torch::jit::Stack& stack);

    /// Returns the time of a kind in nanoseconds, or nullopt if it must still be measured.
    std::optional<std::int64_t> of(std::uint64_t kind) const;
    /// Adds a sample in nanoseconds. Returns the quickest sample so far.
    std::int64_t measured(std::uint64_t kind, std::int64_t time);

  private:
    struct Samples {
        int count = 0;
        std::int64_t least = 0;
    };
    std::unordered_map<std::uint64_t, Samples> samples_;
};

}  // namespace rematlas
