// The inputs of a model: `f32[8,3,224,224]`, or `i64[8,256]<4096` for integers below 4096. An argument that
// is no tensor is the same in every step: `int:3`, `float:0.5`, `bool:true`, `str:mean`, `none`.
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
    std::optional<c10::IValue> fixed = {};  ///< a number, a truth value, a string or none, for an argument
                                            ///< that is no tensor
};

/// Types: f16 bf16 f32 f64 f8e4m3fn f8e5m2 c32 c64 c128 i8 i16 i32 i64 u8 u16 u32 u64 bool. Errors name the
/// text and what is wrong with it.
Result<InputSpec> parse_input_spec(std::string_view text);
std::string to_string(const InputSpec& spec);

/// "f32", "i64", ...; empty for a type without a short name.
std::string_view dtype_name(c10::ScalarType dtype);
std::optional<c10::ScalarType> dtype_from(std::string_view name);

/// An argument that is no tensor, and its place among all.
struct FixedInput {
    std::size_t position = 0;
    InputSpec spec;
};
/// Takes the specifications of arguments that are no tensors out of the list.
std::vector<FixedInput> take_fixed(std::vector<InputSpec>& specs);

/// Floating-point and complex values from the normal distribution, integers from the uniform one.
at::Tensor draw(const InputSpec& spec, at::Generator generator);
std::vector<at::Tensor> draw_inputs(const std::vector<InputSpec>& specs, std::uint64_t seed);

}  // namespace rematlas
