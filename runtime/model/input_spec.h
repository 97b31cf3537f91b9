// What a model is fed: `f32[8,3,224,224]`, or `i64[8,256]<4096` for integers below 4096. What is no tensor is
// the same in every step: `int:3`, `float:0.5`, `bool:true`, `str:mean`, `none`.
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
    std::optional<std::int64_t> bound;      ///< integers are drawn from 0 .. bound-1; 2 when not given
    std::optional<c10::IValue> fixed = {};  ///< a number, a truth value, a string or none; no tensor then
};

/// Types: f16 bf16 f32 f64 c64 c128 i8 i16 i32 i64 u8 bool. Errors name the text and what is wrong with it.
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
/// Takes the specifications of what is no tensor out of the list.
std::vector<FixedInput> take_fixed(std::vector<InputSpec>& specs);

/// Floating-point and complex values from the normal distribution, integers from the uniform one.
at::Tensor draw(const InputSpec& spec, at::Generator generator);
std::vector<at::Tensor> draw_inputs(const std::vector<InputSpec>& specs, std::uint64_t seed);

}  // namespace rematlas
