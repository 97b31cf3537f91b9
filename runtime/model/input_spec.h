// What a model is fed: `f32[8,3,224,224]`, or `i64[8,256]<4096` for integers below 4096.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace rematlas {

struct InputSpec {
    c10::ScalarType dtype = c10::ScalarType::Float;
    std::vector<std::int64_t> sizes;
    std::optional<std::int64_t> bound;  ///< integers are drawn from 0 .. bound-1; 2 when not given
    bool operator==(const InputSpec&) const = default;
};

/// Types: f16 bf16 f32 f64 c64 c128 i8 i16 i32 i64 u8 bool. Errors name the text and what is wrong with it.
Result<InputSpec> parse_input_spec(std::string_view text);
std::string to_string(const InputSpec& spec);

/// "f32", "i64", ...; empty for a type without a short name.
std::string_view dtype_name(c10::ScalarType dtype);
std::optional<c10::ScalarType> dtype_from(std::string_view name);

/// Floating-point and complex values from the normal distribution, integers from the uniform one.
at::Tensor draw(const InputSpec& spec, at::Generator generator);
std::vector<at::Tensor> draw_inputs(const std::vector<InputSpec>& specs, std::uint64_t seed);

}  // namespace rematlas
