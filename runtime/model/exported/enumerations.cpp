#include "runtime/model/exported/enumerations.h"

#include <c10/util/Exception.h>

#include <array>
#include <utility>

namespace rematlas::exported {
namespace {

template <class T, std::size_t count>
T find(const std::array<std::pair<int, T>, count>& all, std::int64_t number, const char* what) {
    for (const auto& [known, meaning] : all)
        if (known == number) return meaning;
    TORCH_CHECK(false, "the archive names ", what, " by the number ", number, ", which is not known here");
}

}  // namespace

c10::ScalarType scalar_type(std::int64_t number) {
    using c10::ScalarType;
    static constexpr std::array<std::pair<int, ScalarType>, 21> types{{{1, ScalarType::Byte},
                                                                       {2, ScalarType::Char},
                                                                       {3, ScalarType::Short},
                                                                       {4, ScalarType::Int},
                                                                       {5, ScalarType::Long},
                                                                       {6, ScalarType::Half},
                                                                       {7, ScalarType::Float},
                                                                       {8, ScalarType::Double},
                                                                       {9, ScalarType::ComplexHalf},
                                                                       {10, ScalarType::ComplexFloat},
                                                                       {11, ScalarType::ComplexDouble},
                                                                       {12, ScalarType::Bool},
                                                                       {13, ScalarType::BFloat16},
                                                                       {28, ScalarType::UInt16},
                                                                       {29, ScalarType::Float8_e4m3fn},
                                                                       {30, ScalarType::Float8_e5m2},
                                                                       {31, ScalarType::Float8_e4m3fnuz},
                                                                       {32, ScalarType::Float8_e5m2fnuz},
                                                                       {33, ScalarType::Float8_e8m0fnu},
                                                                       {34, ScalarType::UInt32},
                                                                       {35, ScalarType::UInt64}}};
    return find(types, number, "a type");
}

c10::Layout layout(std::int64_t number) {
    using c10::Layout;
    static constexpr std::array<std::pair<int, Layout>, 7> layouts{{{1, Layout::Sparse},
                                                                    {2, Layout::SparseCsr},
                                                                    {3, Layout::SparseCsc},
                                                                    {4, Layout::SparseBsr},
                                                                    {5, Layout::SparseBsc},
                                                                    {6, Layout::Mkldnn},
                                                                    {7, Layout::Strided}}};
    return find(layouts, number, "a layout");
}

c10::MemoryFormat memory_format(std::int64_t number) {
    using c10::MemoryFormat;
    static constexpr std::array<std::pair<int, MemoryFormat>, 4> formats{{{1, MemoryFormat::Contiguous},
                                                                          {2, MemoryFormat::ChannelsLast},
                                                                          {3, MemoryFormat::ChannelsLast3d},
                                                                          {4, MemoryFormat::Preserve}}};
    return find(formats, number, "a memory format");
}

}  // namespace rematlas::exported
