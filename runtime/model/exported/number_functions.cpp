#include "runtime/model/exported/number_functions.h"

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <map>

namespace rematlas::exported {
namespace {

using c10::IValue;
using Arguments = std::vector<IValue>;

bool is_whole(const IValue& value) {
    TORCH_CHECK(value.isInt() || value.isBool() || value.isDouble(), "expected a number, got ",
                value.tagKind());
    return !value.isDouble();
}
std::int64_t whole(const IValue& value) {
    TORCH_CHECK(is_whole(value), "expected an integer, got ", value.toDouble());
    return value.isBool() ? value.toBool() : value.toInt();
}
double real(const IValue& value) {
    return is_whole(value) ? static_cast<double>(whole(value)) : value.toDouble();
}
bool truth(const IValue& value) {
    return is_whole(value) ? whole(value) != 0 : value.toDouble() != 0;
}
bool both_whole(const Arguments& of) {
    return is_whole(of[0]) && is_whole(of[1]);
}

template <class Checked>
std::int64_t within_64_bits(const Arguments& of, Checked&& checked) {
    std::int64_t result = 0;
    TORCH_CHECK(!checked(whole(of[0]), whole(of[1]), &result), "a size does not fit into 64 bits");
    return result;
}

IValue add(const Arguments& of) {
    if (!both_whole(of)) return real(of[0]) + real(of[1]);
    return within_64_bits(of, [](auto a, auto b, auto* sum) { return __builtin_add_overflow(a, b, sum); });
}
IValue subtract(const Arguments& of) {
    if (!both_whole(of)) return real(of[0]) - real(of[1]);
    return within_64_bits(of, [](auto a, auto b, auto* sum) { return __builtin_sub_overflow(a, b, sum); });
}
IValue multiply(const Arguments& of) {
    if (!both_whole(of)) return real(of[0]) * real(of[1]);
    return within_64_bits(of, [](auto a, auto b, auto* sum) { return __builtin_mul_overflow(a, b, sum); });
}
IValue negate(const Arguments& of) {
    return subtract({IValue(std::int64_t{0}), of[0]});
}

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
    TORCH_CHECK(b != 0, "a size is divided by zero");
    if (b == -1) return whole(negate({IValue(a)}));
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
IValue divide_down(const Arguments& of) {
    if (both_whole(of)) return floor_quotient(whole(of[0]), whole(of[1]));
    TORCH_CHECK(real(of[1]) != 0, "a number is divided by zero");
    return std::floor(real(of[0]) / real(of[1]));
}
IValue remainder(const Arguments& of) {
    if (both_whole(of)) {
        if (whole(of[1]) == -1) return std::int64_t{0};
        return whole(of[0]) - floor_quotient(whole(of[0]), whole(of[1])) * whole(of[1]);
    }
    TORCH_CHECK(real(of[1]) != 0, "a number is divided by zero");
    const double rest = std::fmod(real(of[0]), real(of[1]));
    return rest != 0 && (rest < 0) != (real(of[1]) < 0) ? rest + real(of[1]) : rest;
}
IValue divide(const Arguments& of) {
    TORCH_CHECK(real(of[1]) != 0, "a number is divided by zero");
    return real(of[0]) / real(of[1]);
}
IValue power(const Arguments& of) {
    if (!both_whole(of) || whole(of[1]) < 0) return std::pow(real(of[0]), real(of[1]));
    IValue result(std::int64_t{1});
    const std::int64_t base = whole(of[0]), exponent = whole(of[1]);
    if (base == 0 || base == 1) return exponent == 0 ? std::int64_t{1} : base;
    if (base == -1) return exponent % 2 == 0 ? std::int64_t{1} : base;
    // With any other base, at most 64 multiplications run: then the result overflows, and `multiply` throws.
    for (std::int64_t i = 0; i < exponent; ++i) result = multiply({result, of[0]});
    return result;
}
std::int64_t shift_of(const IValue& value) {
    TORCH_CHECK(whole(value) >= 0, "a size is shifted by a negative number");
    return whole(value);
}
IValue shift_left(const Arguments& of) {
    TORCH_CHECK(whole(of[0]) == 0 || shift_of(of[1]) < 63, "a size does not fit into 64 bits");
    if (whole(of[0]) == 0) return std::int64_t{0};
    return multiply({of[0], IValue(std::int64_t{1} << shift_of(of[1]))});
}
IValue shift_right(const Arguments& of) {
    return whole(of[0]) >> std::min<std::int64_t>(shift_of(of[1]), 63);
}

/// Compares two numbers as Python does: a NaN is neither less than, nor equal to, nor greater than a number.
/// Integers are compared without floating point.
std::partial_ordering order(const Arguments& of) {
    if (both_whole(of)) return whole(of[0]) <=> whole(of[1]);
    return real(of[0]) <=> real(of[1]);
}
IValue larger(const Arguments& of) {
    return order(of) < 0 ? of[1] : of[0];
}
IValue smaller(const Arguments& of) {
    return order(of) > 0 ? of[1] : of[0];
}
IValue both(const Arguments& of) {
    if (of[0].isBool() && of[1].isBool()) return of[0].toBool() && of[1].toBool();
    return whole(of[0]) & whole(of[1]);
}
IValue either(const Arguments& of) {
    if (of[0].isBool() && of[1].isBool()) return of[0].toBool() || of[1].toBool();
    return whole(of[0]) | whole(of[1]);
}

std::int64_t to_integer(double value) {
    TORCH_CHECK(std::abs(value) < 0x1p63, "a size does not fit into 64 bits");
    return static_cast<std::int64_t>(value);
}
IValue truncate(const Arguments& of) {
    return is_whole(of[0]) ? whole(of[0]) : to_integer(std::trunc(of[0].toDouble()));
}
IValue round_down(const Arguments& of) {
    return is_whole(of[0]) ? whole(of[0]) : to_integer(std::floor(of[0].toDouble()));
}
IValue round_up(const Arguments& of) {
    return is_whole(of[0]) ? whole(of[0]) : to_integer(std::ceil(of[0].toDouble()));
}
IValue square_root(const Arguments& of) {
    TORCH_CHECK(real(of[0]) >= 0, "the square root of a negative number");
    return std::sqrt(real(of[0]));
}

const at::Tensor& tensor(const IValue& value) {
    TORCH_CHECK(value.isTensor() && value.toTensor().defined(), "expected a tensor, got ", value.tagKind());
    return value.toTensor();
}

const std::map<std::string_view, NumberFunction>& functions() {
    static const std::map<std::string_view, NumberFunction> all{
        {"_operator.add", {2, add}},
        {"_operator.sub", {2, subtract}},
        {"_operator.mul", {2, multiply}},
        {"_operator.floordiv", {2, divide_down}},
        {"_operator.truediv", {2, divide}},
        {"_operator.mod", {2, remainder}},
        {"_operator.pow", {2, power}},
        {"_operator.lshift", {2, shift_left}},
        {"_operator.rshift", {2, shift_right}},
        {"_operator.and_", {2, both}},
        {"_operator.or_", {2, either}},
        {"_operator.neg", {1, negate}},
        {"_operator.pos", {1, [](const Arguments& of) { return of[0]; }}},
        {"_operator.eq", {2, [](const Arguments& of) { return IValue(order(of) == 0); }}},
        {"_operator.ne", {2, [](const Arguments& of) { return IValue(order(of) != 0); }}},
        {"_operator.lt", {2, [](const Arguments& of) { return IValue(order(of) < 0); }}},
        {"_operator.le", {2, [](const Arguments& of) { return IValue(order(of) <= 0); }}},
        {"_operator.gt", {2, [](const Arguments& of) { return IValue(order(of) > 0); }}},
        {"_operator.ge", {2, [](const Arguments& of) { return IValue(order(of) >= 0); }}},
        {"math.trunc", {1, truncate}},
        {"math.floor", {1, round_down}},
        {"math.ceil", {1, round_up}},
        {"torch.sym_int", {1, truncate}},
        {"torch.sym_float", {1, [](const Arguments& of) { return IValue(real(of[0])); }}},
        {"torch.sym_sqrt", {1, square_root}},
        {"torch._sym_sqrt", {1, square_root}},
        {"torch.sym_not", {1, [](const Arguments& of) { return IValue(!truth(of[0])); }}},
        {"torch.sym_max", {2, larger}},
        {"torch.sym_min", {2, smaller}},
        {"torch.sym_ite", {3, [](const Arguments& of) { return truth(of[0]) ? of[1] : of[2]; }}},
        {"torch.ops.aten.sym_size.int",
         {2, [](const Arguments& of) { return IValue(tensor(of[0]).size(whole(of[1]))); }}},
        {"torch.ops.aten.sym_stride.int",
         {2, [](const Arguments& of) { return IValue(tensor(of[0]).stride(whole(of[1]))); }}},
        {"torch.ops.aten.sym_numel.default",
         {1, [](const Arguments& of) { return IValue(tensor(of[0]).numel()); }}},
        {"torch.ops.aten.sym_storage_offset.default",
         {1, [](const Arguments& of) { return IValue(tensor(of[0]).storage_offset()); }}},
    };
    return all;
}

}  // namespace

const NumberFunction* number_function(std::string_view target) {
    const auto found = functions().find(target);
    return found == functions().end() ? nullptr : &found->second;
}

}  // namespace rematlas::exported
