// An input of a model as text: `f32[8,3,224,224]`, or `i64[8,256]<4096` for integers below 4096. An argument
// that is not a tensor has the same value in every step: `int:3`, `float:0.5`, `bool:true`, `str:mean`,
// `none`.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace rematlas {

struct InputSpec {
    c10::ScalarType dtype = c10::ScalarType::Float;
    std::vector<std::int64_t> sizes;
    std::optional<std::int64_t> bound;      ///< integers are drawn from 0 .. bound-1; the bound is 2 if
                                            ///< absent
    std::optional<c10::IValue> fixed = {};  ///< value of an argument that is not a tensor: a number, a truth
                                            ///< value, a string or none
};

/// Reads the text of an input. The dtypes: f16 bf16 f32 f64 f8e4m3fn f8e5m2 c32 c64 c128 i8 i16 i32 i64 u8
/// u16 u32 u64 bool. An error contains the text and says what is wrong with it.
Result<InputSpec> parse_input_spec(std::string_view text);
std::string to_string(const InputSpec& spec);

/// Returns "f32", "i64", ...; empty for a dtype without a short name.
std::string_view dtype_name(c10::ScalarType dtype);
std::optional<c10::ScalarType> dtype_from(std::string_view name);

/// An argument that is not a tensor, and its position among all arguments.
struct FixedInput {
    std::size_t position = 0;
    InputSpec spec;
};
/// Removes from `specs` the arguments that are not tensors, and returns them.
std::vector<FixedInput> take_fixed(std::vector<InputSpec>& specs);

/// Draws floating-point and complex values from the normal distribution, integers from the uniform
/// distribution.
at::Tensor draw(const InputSpec& spec, at::Generator generator);
std::vector<at::Tensor> draw_inputs(const std::vector<InputSpec>& specs, std::uint64_t seed);

}  // namespace rematlas
