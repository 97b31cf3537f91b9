// What ops cost on a device that works on its own while the program goes on.
//
// A wall clock around a call sees the launch alone. So the first runs of each kind of call (operator,
// geometry of the operands, other arguments) are waited for, and the quickest of them is the cost of all
// that follow: the first one may include loading the kernel. Later calls wait for nothing.
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

    /// In nanoseconds. Nothing: it has to be measured.
    std::optional<std::int64_t> of(std::uint64_t kind) const;
    /// Returns the quickest so far.
    std::int64_t measured(std::uint64_t kind, std::int64_t time);

  private:
    struct Samples {
        int count = 0;
        std::int64_t least = 0;
    };
    std::unordered_map<std::uint64_t, Samples> samples_;
};

}  // namespace rematlas
