// Finds the memory format of an operand, and the module of a parameter.
#pragma once

#include <c10/core/MemoryFormat.h>

#include <optional>
#include <string>

#include "runtime/replay/tape.h"

namespace rematlas {

/// Returns the memory format in which a copy of the operand gets the operand's strides, or nullopt if no
/// format has these strides.
std::optional<c10::MemoryFormat> format_of(const Operand& operand);

/// Returns the path of the module that owns the parameter.
std::string module_of(const std::string& parameter);

}  // namespace rematlas
