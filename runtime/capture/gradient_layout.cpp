#include "runtime/capture/gradient_layout.h"

#include <c10/util/strides.h>

namespace rematlas {

std::optional<c10::MemoryFormat> format_of(const Operand& operand) {
    const c10::IntArrayRef sizes(operand.sizes);
    if (lies_as(operand, c10::contiguous_strides(sizes))) return c10::MemoryFormat::Contiguous;
    if (sizes.size() == 4 && lies_as(operand, c10::get_channels_last_strides_2d(sizes)))
        return c10::MemoryFormat::ChannelsLast;
    if (sizes.size() == 5 && lies_as(operand, c10::get_channels_last_strides_3d(sizes)))
        return c10::MemoryFormat::ChannelsLast3d;
    return std::nullopt;
}

std::string module_of(const std::string& parameter) {
    const std::size_t dot = parameter.rfind('.');
    return dot == parameter.npos ? "" : parameter.substr(0, dot);
}

}  // namespace rematlas
