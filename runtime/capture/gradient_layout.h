// How gradients lie in memory beside their parameters.
#pragma once

#include <c10/core/MemoryFormat.h>

#include <optional>
#include <string>

#include "runtime/replay/tape.h"

namespace rematlas {

/// How a copy has to be made so that it lies as the operand does; none where no copy does.
std::optional<c10::MemoryFormat> format_of(const Operand& operand);

/// The path of the module that has the parameter.
std::string module_of(const std::string& parameter);

}  // namespace rematlas
