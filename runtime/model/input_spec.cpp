#include "runtime/model/input_spec.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty.h>

#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "core/base/numbers.h"

namespace rematlas {
namespace {

constexpr std::array<std::pair<std::string_view, c10::ScalarType>, 18> dtypes{{
    {"f16", c10::ScalarType::Half},
    {"bf16", c10::ScalarType::BFloat16},
    {"f32", c10::ScalarType::Float},
    {"f64", c10::ScalarType::Double},
    {"f8e4m3fn", c10::ScalarType::Float8_e4m3fn},
    {"f8e5m2", c10::ScalarType::Float8_e5m2},
    {"c32", c10::ScalarType::ComplexHalf},
    {"c64", c10::ScalarType::ComplexFloat},
    {"c128", c10::ScalarType::ComplexDouble},
    {"i8", c10::ScalarType::Char},
    {"i16", c10::ScalarType::Short},
    {"i32", c10::ScalarType::Int},
    {"i64", c10::ScalarType::Long},
    {"u8", c10::ScalarType::Byte},
    {"u16", c10::ScalarType::UInt16},
    {"u32", c10::ScalarType::UInt32},
    {"u64", c10::ScalarType::UInt64},
    {"bool", c10::ScalarType::Bool},
}};

Error wrong(std::string_view text, std::string_view why) {
    return {"--input '" + std::string(text) + "': " + std::string(why) +
            "; expected e.g. 'f32[8,3,224,224]', 'i64[8,256]<4096', 'int:3', 'float:0.5', 'bool:true', "
            "'str:mean' or 'none'"};
}

/// Reads `int:3` and the other forms of arguments that are not tensors. Returns nothing if the text has
/// another form.
std::optional<Result<InputSpec>> parse_fixed(std::string_view text) {
    const auto fixed = [](c10::IValue value) {
        return Result<InputSpec>(InputSpec{.fixed = std::move(value)});
    };
    if (text == "none") return fixed({});
    const std::size_t colon = text.find(':');
    if (colon == text.npos) return std::nullopt;
    const std::string_view type = text.substr(0, colon), value = text.substr(colon + 1);
    if (type == "str") return fixed(std::string(value));
    if (type == "int") {
        const auto number = number_from<std::int64_t>(value);
        return number ? fixed(*number) : wrong(text, "not an integer");
    }
    if (type == "float") {
        const auto number = number_from<double>(value);
        return number ? fixed(*number) : wrong(text, "not a number");
    }
    if (type == "bool") {
        if (value == "true" || value == "false") return fixed(value == "true");
        return wrong(text, "neither true nor false");
    }
    return wrong(text, "unknown type '" + std::string(type) + "'");
}

std::string text_of(const c10::IValue& fixed) {
    if (fixed.isNone()) return "none";
    if (fixed.isInt()) return "int:" + std::to_string(fixed.toInt());
    if (fixed.isBool()) return fixed.toBool() ? "bool:true" : "bool:false";
    if (fixed.isString()) return "str:" + fixed.toStringRef();
    std::array<char, 32> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), fixed.toDouble()).ptr;
    return "float:" + std::string(digits.data(), end);
}

/// Returns the largest bound such that the dtype can hold every value below the bound.
std::int64_t range_of(c10::ScalarType dtype) {
    switch (dtype) {
        case c10::ScalarType::Char:
            return 128;
        case c10::ScalarType::Byte:
            return 256;
        case c10::ScalarType::Short:
            return 32768;
        case c10::ScalarType::UInt16:
            return 65536;
        case c10::ScalarType::Int:
            return std::int64_t{1} << 31;
        case c10::ScalarType::UInt32:
            return std::int64_t{1} << 32;
        case c10::ScalarType::Bool:
            return 2;
        default:
            return std::numeric_limits<std::int64_t>::max();
    }
}

}  // namespace

std::string_view dtype_name(c10::ScalarType dtype) {
    for (const auto& [name, type] : dtypes)
        if (type == dtype) return name;
    return {};
}

std::optional<c10::ScalarType> dtype_from(std::string_view name) {
    for (const auto& [known, type] : dtypes)
        if (known == name) return type;
    return std::nullopt;
}

Result<InputSpec> parse_input_spec(std::string_view text) {
    if (auto fixed = parse_fixed(text)) return std::move(*fixed);
    const std::size_t open = text.find('['), close = text.find(']');
    if (open == text.npos || close == text.npos || close < open) return wrong(text, "no [shape]");
    const auto dtype = dtype_from(text.substr(0, open));
    if (!dtype) return wrong(text, "unknown type '" + std::string(text.substr(0, open)) + "'");

    InputSpec spec{.dtype = *dtype};
    std::int64_t elements = 1;
    std::string_view shape = text.substr(open + 1, close - open - 1);
    while (!shape.empty()) {
        const std::size_t comma = shape.find(',');
        const auto size = number_from<std::int64_t>(shape.substr(0, comma));
        if (!size || *size < 1) return wrong(text, "sizes are integers of at least 1");
        if (*size > (std::int64_t{1} << 40) / elements) return wrong(text, "more than 2^40 elements");
        elements *= *size;
        spec.sizes.push_back(*size);
        if (comma == shape.npos) break;
        shape.remove_prefix(comma + 1);
        if (shape.empty()) return wrong(text, "sizes are integers of at least 1");
    }

    const std::string_view rest = text.substr(close + 1);
    if (rest.empty()) return spec;
    if (rest.front() != '<') return wrong(text, "unexpected '" + std::string(rest) + "' after the shape");
    if (!c10::isIntegralType(*dtype, /*includeBool=*/false)) return wrong(text, "only integers take a bound");
    spec.bound = number_from<std::int64_t>(rest.substr(1));
    if (!spec.bound || *spec.bound < 1 || *spec.bound > range_of(*dtype)) {
        return wrong(text, "the bound is an integer of at least 1 that the type can hold");
    }
    return spec;
}

std::string to_string(const InputSpec& spec) {
    if (spec.fixed) return text_of(*spec.fixed);
    std::string text(dtype_name(spec.dtype));
    text += '[';
    for (std::size_t i = 0; i < spec.sizes.size(); ++i) {
        if (i > 0) text += ',';
        text += std::to_string(spec.sizes[i]);
    }
    text += ']';
    if (spec.bound) text += '<' + std::to_string(*spec.bound);
    return text;
}

std::vector<FixedInput> take_fixed(std::vector<InputSpec>& specs) {
    std::vector<FixedInput> fixed;
    for (std::size_t i = 0; i < specs.size(); ++i)
        if (specs[i].fixed) fixed.push_back({i, specs[i]});
    std::erase_if(specs, [](const InputSpec& spec) { return spec.fixed.has_value(); });
    return fixed;
}

at::Tensor draw(const InputSpec& spec, at::Generator generator) {
    at::Tensor tensor = at::empty(spec.sizes, c10::TensorOptions().dtype(spec.dtype));
    if (c10::isFloatingType(spec.dtype) || c10::isComplexType(spec.dtype))
        return tensor.normal_(0.0, 1.0, std::move(generator));
    return tensor.random_(0, spec.bound.value_or(2), std::move(generator));
}

std::vector<at::Tensor> draw_inputs(const std::vector<InputSpec>& specs, std::uint64_t seed) {
    at::Generator generator = at::detail::createCPUGenerator(seed);
    std::vector<at::Tensor> inputs;
    for (const InputSpec& spec : specs) inputs.push_back(draw(spec, generator));
    return inputs;
}

}  // namespace rematlas
