// What the schemas of ATen operators do not say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <ATen/core/stack.h>
#include <c10/core/Storage.h>

namespace rematlas {

/// Positions of arguments that the kernel updates without declaring it (running statistics). Its outputs do not depend on them.
struct StatisticsArguments {
    std::size_t mean, variance;
};
/// `arguments` begin at stack[base]. Nothing when this call does not train.
std::optional<StatisticsArguments> updated_statistics(const std::string& name, const torch::jit::Stack& stack, std::size_t base);

/// The op overwrites all of what it writes to: the old contents do not matter.
bool overwrites_everything(const std::string& name, const std::string& overload);

/// aten::empty and its kin.
bool makes_uninitialized(const std::string& name);

/// The shape of the result depends on the values of the arguments, whatever their types.
bool shape_depends_on_values(const std::string& name);

/// A fast digest of a storage in host memory. Collisions only weaken the audit that uses it.
std::uint64_t digest_of(const c10::Storage& storage);

}  // namespace rematlas
