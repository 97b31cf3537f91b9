// What the schemas of ATen operators do not say.
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
    statistics,  ///< it updates running statistics, on which its outputs do not depend
};
/// Of argument `index` of this call; the arguments begin at stack[base].
HiddenWrite hidden_write(const std::string& op, std::size_t index, const torch::jit::Stack& stack,
                         std::size_t base);

/// Whether some argument of some call of it is so written.
bool may_write_hidden(const std::string& op);

/// The kernel looks at the shape and type of this tensor argument only. Such arguments are no inputs of the
/// op in the graph: a dropout mask can then be drawn again without what it is applied to.
bool ignores_contents(const std::string& op, std::size_t index, const torch::jit::Stack& stack,
                      std::size_t base);

/// The op overwrites all of what it writes to: the old contents do not matter.
bool overwrites_everything(const std::string& name, const std::string& overload);

/// aten::empty and its kin.
bool makes_uninitialized(const std::string& name);

/// The shape of the result depends on the values of the arguments, whatever their types.
bool shape_depends_on_values(const std::string& name);

/// The count of numbers that the op draws from the host's generator depends on the values of its arguments,
/// or of the numbers themselves.
bool draws_by_values(const std::string& name);

/// A fast digest of bytes in host memory. Collisions only weaken the audit that uses it.
std::uint64_t digest_of(const void* data, std::size_t bytes);

}  // namespace rematlas
