// Names of modules and of operators, as pictures write them into the room that there is.
#pragma once

#include <string_view>

#include "viz/paint/canvas.h"

namespace rematlas {

/// "convolution" for aten::convolution.
std::string_view operator_name(std::string_view name);

/// The first `level` parts of a module path.
std::string_view module_prefix(std::string_view path, int level);

/// Whether the first part of the path is a number, which says nothing alone: "2" may be `blocks.2` or
/// `blocks.11.mlp.2`.
bool begins_with_number(std::string_view path);

/// A module path without as many of its first parts as it takes to fit; empty where nothing is left. What is
/// left begins with no number, where parts were left out.
std::string_view last_parts(const TextRuler& ruler, std::string_view path, const TextStyle& style,
                            double width);

}  // namespace rematlas
