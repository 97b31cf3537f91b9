#include "runtime/model/exported/enumerations.h"

#include <c10/util/Exception.h>

#include <array>

namespace rematlas::exported {
namespace {

/// Returns what the number means. `known` has the meanings of `first` and of the numbers that follow it.
template <class T, std::size_t count>
T find(const std::array<T, count>& known, std::int64_t first, std::int64_t number, const char* what) {
    if (number >= first && number - first < std::int64_t{count})
        return known[static_cast<std::size_t>(number - first)];
    TORCH_CHECK(false, "the archive names ", what, " by the number ", number, ", which is not known here");
}

}  // namespace

c10::ScalarType scalar_type(std::int64_t number) {
    using c10::ScalarType;
    static constexpr std::array from_1{
        ScalarType::Byte,        ScalarType::Char,         ScalarType::Short,         ScalarType::Int,
        ScalarType::Long,        ScalarType::Half,         ScalarType::Float,         ScalarType::Double,
        ScalarType::ComplexHalf, ScalarType::ComplexFloat, ScalarType::ComplexDouble, ScalarType::Bool,
        ScalarType::BFloat16};
    static constexpr std::array from_28{ScalarType::UInt16,          ScalarType::Float8_e4m3fn,
                                        ScalarType::Float8_e5m2,     ScalarType::Float8_e4m3fnuz,
                                        ScalarType::Float8_e5m2fnuz, ScalarType::Float8_e8m0fnu,
                                        ScalarType::UInt32,          ScalarType::UInt64};
    return number < 28 ? find(from_1, 1, number, "a type") : find(from_28, 28, number, "a type");
}

c10::Layout layout(std::int64_t number) {
    using c10::Layout;
    static constexpr std::array from_1{Layout::Sparse,    Layout::SparseCsr, Layout::SparseCsc,
                                       Layout::SparseBsr, Layout::SparseBsc, Layout::Mkldnn,
                                       Layout::Strided};
    return find(from_1, 1, number, "a layout");
}

c10::MemoryFormat memory_format(std::int64_t number) {
    using c10::MemoryFormat;
    static constexpr std::array from_1{MemoryFormat::Contiguous, MemoryFormat::ChannelsLast,
                                       MemoryFormat::ChannelsLast3d, MemoryFormat::Preserve};
    return find(from_1, 1, number, "a memory format");
}

}  // namespace rematlas::exported
