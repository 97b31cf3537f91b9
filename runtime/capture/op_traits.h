// Facts about ATen operators that their schemas do not say.
#pragma once

#include <ATen/core/stack.h>
#include <c10/core/Storage.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace rematlas {

/// A write that the schema does not declare.
enum class HiddenWrite : std::uint8_t {
    none,
    contents,    ///< the kernel reads and overwrites the tensor
    statistics,  ///< the kernel updates running statistics, on which its outputs do not depend
};
/// The hidden write to argument `index` of this call; the arguments begin at stack[base].
HiddenWrite hidden_write(const std::string& op, std::size_t index, const torch::jit::Stack& stack,
                         std::size_t base);

/// Whether some call of the operator has a hidden write to some argument.
bool may_write_hidden(const std::string& op);

/// True if the kernel reads only the shape and type of this tensor argument. Such arguments are no inputs
/// of the op in the graph: a dropout mask can then be drawn again without the tensor to which it is
/// applied.
bool ignores_contents(const std::string& op, std::size_t index, const torch::jit::Stack& stack,
                      std::size_t base);

/// True if the op overwrites all of each tensor that it writes to, so that the old contents do not matter.
bool overwrites_everything(const std::string& name, const std::string& overload);

/// True for aten::empty and similar operators.
bool makes_uninitialized(const std::string& name);

/// True if the shape of the result depends on the values of the arguments, whatever their types.
bool shape_depends_on_values(const std::string& name);

/// True if the count of numbers that the op draws from the host's generator depends on the values of its
/// arguments, or on the numbers themselves.
bool draws_by_values(const std::string& name);

/// A fast digest of bytes in host memory. Collisions only weaken the audit that uses it.
std::uint64_t digest_of(const void* data, std::size_t bytes);

}  // namespace rematlas
