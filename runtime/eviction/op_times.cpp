#include "runtime/eviction/op_times.h"

#include <c10/util/hash.h>

#include <algorithm>

#include "runtime/eviction/stored_call.h"

namespace rematlas {
namespace {

constexpr int samples_of_a_kind = 3;

void mix(std::size_t& hash, std::size_t value) {
    hash = c10::hash_combine(hash, value);
}

void mix_geometry(std::size_t& hash, const at::Tensor& tensor) {
    if (!tensor.defined() || !tensor.has_storage()) return mix(hash, 0);
    mix(hash, static_cast<std::size_t>(tensor.scalar_type()));
    mix(hash, static_cast<std::size_t>(tensor.device().type()));
    for (const std::int64_t size : tensor.sizes()) mix(hash, static_cast<std::size_t>(size));
    for (const std::int64_t stride : tensor.strides()) mix(hash, static_cast<std::size_t>(stride));
}

/// Adds numbers and lists of integers to the hash. For any other value, adds only whether it is None.
void mix_value(std::size_t& hash, const c10::IValue& value) {
    mix(hash, value.isNone() ? 1 : 2);
    if (value.isInt()) mix(hash, static_cast<std::size_t>(value.toInt()));
    if (value.isBool()) mix(hash, value.toBool() ? 3 : 4);
    if (value.isDouble()) mix(hash, std::hash<double>()(value.toDouble()));
    if (value.isIntList())
        for (const std::int64_t item : value.toIntList()) mix(hash, static_cast<std::size_t>(item));
}

}  // namespace

std::uint64_t OpTimes::kind_of(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
    const std::size_t count = op.schema().arguments().size();
    std::size_t hash = std::hash<const void*>()(&op.schema());
    for_each_tensor_of(stack, count, [&](std::size_t argument, int, const at::Tensor& tensor) {
        mix(hash, argument);
        mix_geometry(hash, tensor);
    });
    for (std::size_t i = stack.size() - count; i < stack.size(); ++i)
        if (!stack[i].isTensor()) mix_value(hash, stack[i]);
    return hash;
}

std::optional<std::int64_t> OpTimes::of(std::uint64_t kind) const {
    const auto found = samples_.find(kind);
    if (found == samples_.end() || found->second.count < samples_of_a_kind) return std::nullopt;
    return found->second.least;
}

std::int64_t OpTimes::measured(std::uint64_t kind, std::int64_t time) {
    Samples& samples = samples_[kind];
    samples.least = samples.count++ == 0 ? time : std::min(samples.least, time);
    return samples.least;
}

}  // namespace rematlas
