// Names of modules and operators, shortened to the space that a picture has for them.
#pragma once

#include <string_view>

#include "viz/paint/canvas.h"

namespace rematlas {

/// Returns "convolution" for aten::convolution.
std::string_view operator_name(std::string_view name);

/// Returns the first `level` parts of a module path.
std::string_view module_prefix(std::string_view path, int level);

/// Says whether the first part of the path is a number. Such a part is ambiguous alone: "2" can be the end of
/// `blocks.2` or of `blocks.11.mlp.2`.
bool begins_with_number(std::string_view path);

/// Returns the longest end of a module path that fits into `width`; empty if not even the last part fits. A
/// shortened path never begins with a number.
std::string_view last_parts(const TextRuler& ruler, std::string_view path, const TextStyle& style,
                            double width);

}  // namespace rematlas
