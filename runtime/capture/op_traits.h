// Facts about ATen operators that their schemas do not contain.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/function_schema.h>
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
/// Returns the hidden write to argument `index` of this call. The arguments begin at stack[base].
HiddenWrite hidden_write(const std::string& op, std::size_t index, const torch::jit::Stack& stack,
                         std::size_t base);

/// Says whether a call of the operator can have a hidden write to one of its arguments.
bool may_write_hidden(const std::string& op);

/// Returns true if the kernel reads only the shape and type of this tensor argument. In the graph, such an
/// argument is no input of the op. So a dropout mask, for example, can be made again without the tensor to
/// which dropout is applied.
bool ignores_contents(const std::string& op, std::size_t index, const torch::jit::Stack& stack,
                      std::size_t base);

/// Returns true if the op overwrites every element of each tensor that it writes to, so that old contents do
/// not matter.
bool overwrites_everything(const std::string& name, const std::string& overload);

/// Returns true for ops that return nothing but views of their arguments. Such ops do not read contents.
bool makes_views(const c10::FunctionSchema& schema);

/// Returns true for ops such as transpose_, which change sizes and strides of their first argument in place,
/// and neither its contents nor its memory.
bool changes_only_geometry(const c10::OperatorHandle& op);

/// Returns true for aten::empty and similar operators.
bool makes_uninitialized(const std::string& name);

/// Returns true if the result's shape depends on the values of the arguments, for arguments of any type.
bool shape_depends_on_values(const std::string& name);

/// Returns true if the number of draws that the op takes from the host's generator is not fixed, but depends
/// on the values of the arguments or on the numbers drawn so far.
bool draws_by_values(const std::string& name);

/// Returns a fast digest of bytes in host memory. If the contents before and after a change have the same
/// digest, a check that compares digests misses the change.
std::uint64_t digest_of(const void* data, std::size_t bytes);

}  // namespace rematlas
