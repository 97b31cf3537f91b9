// The times of ops on a device that works asynchronously.
//
// A wall clock around a call measures the launch alone. So the first runs of each kind of call (operator,
// geometry of the operands, other arguments) wait for the device, and the quickest of them is the cost of
// all later calls of the kind. The first run may include loading the kernel. Later calls do not wait.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <cstdint>
#include <optional>
#include <unordered_map>

namespace rematlas {

class OpTimes {
  public:
    /// The arguments are the last on the stack.
    static std::uint64_t kind_of(const c10::OperatorHandle& op, const torch::jit::Stack& stack);

    /// The time of a kind in nanoseconds; nothing if it still has to be measured.
    std::optional<std::int64_t> of(std::uint64_t kind) const;
    /// Takes a sample in nanoseconds. Returns the quickest one so far.
    std::int64_t measured(std::uint64_t kind, std::int64_t time);

  private:
    struct Samples {
        int count = 0;
        std::int64_t least = 0;
    };
    std::unordered_map<std::uint64_t, Samples> samples_;
};

}  // namespace rematlas
