// The layout of gradients in memory, compared with that of their parameters.
#pragma once

#include <c10/core/MemoryFormat.h>

#include <optional>
#include <string>

#include "runtime/replay/tape.h"

namespace rematlas {

/// The memory format in which a copy gets the strides of the operand; none if no format gives them.
std::optional<c10::MemoryFormat> format_of(const Operand& operand);

/// The path of the module that has the parameter.
std::string module_of(const std::string& parameter);

}  // namespace rematlas
