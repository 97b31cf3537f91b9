#include "core/schedule/pin.h"

#include "core/base/one_line.h"

namespace rematlas {

std::string_view to_string(PinKind kind) {
    return kind == PinKind::keep ? "keep" : "recompute";
}

std::string to_string(const Pin& pin) {
    return pin.pattern + "=" + std::string(to_string(pin.kind));
}

Result<Pin> pin_of(std::string_view pattern, std::string_view kind) {
    if (pattern.empty()) return Error{"a pin names no module, tensor or op"};
    for (const PinKind known : {PinKind::keep, PinKind::recompute}) {
        if (kind == to_string(known)) return Pin{std::string(pattern), known};
    }
    return Error{quoted(kind) + " is neither keep nor recompute"};
}

Result<Pin> parse_pin(std::string_view text) {
    const std::size_t sign = text.rfind('=');
    if (sign == std::string_view::npos)
        return Error{quoted(text) + " is no pin such as 'blocks.*.attn=recompute'"};
    return pin_of(text.substr(0, sign), text.substr(sign + 1));
}

}  // namespace rematlas
