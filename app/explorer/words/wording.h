// Formats numbers and names, in one place so that all views agree.
#pragma once

#include <QString>
#include <string>
#include <string_view>

#include "app/explorer/loaded/loaded_schedule.h"

namespace rematlas::explorer {

/// Converts from UTF-8. Characters that change the direction of text are shown as escapes, for example
/// "\u202e".
QString text(std::string_view utf8);
QString bytes_text(Bytes bytes);
/// Returns the bytes with at least four significant digits: "1.234 GiB". They are rounded up, so that parsing
/// the text gives at least `bytes`.
QString precise_bytes(Bytes bytes);
QString time_text(Nanoseconds time);
QString percent_text(double share);      ///< 0.123 -> "12.3 %"
QString overhead_text(double overhead);  ///< 1.072 -> "+7.20 %"
/// Returns for example "+448 us" or "-448 us".
QString signed_time(Nanoseconds time);
QString signed_bytes(Bytes bytes);  ///< "+1.5 MiB", "-1.5 MiB"
QString decision_text(Decision decision);
QString phase_text(Phase phase);
QString kind_text(TensorKind kind);
/// Returns words for the status of a schedule or a point of a sweep, for example "best possible" for optimal.
QString status_text(const std::string& status);

/// Returns for example "convolution" for aten::convolution.
QString short_op_name(const Op& op);
/// Returns the short name and the number: "mm #12".
QString numbered_op(const LoadedGraph& graph, OpId op);
/// Returns the block's name (`numbered_block`), else its path, else its phase. The result is never empty.
QString block_name(const LoadedGraph& graph, BlockId block);
QString tensor_name(const LoadedGraph& graph, TensorId tensor);
/// Returns for example "f32[8,3,224,224]"; empty if the graph does not say.
QString layout_text(const Graph& graph, TensorId tensor);
/// Returns the line of the model that makes the tensor; empty if the graph does not say.
QString source_text(const LoadedGraph& graph, TensorId tensor);
/// Returns for example "layer1.0.conv1 (Conv2d)", or only the path if the graph does not name the class.
QString module_text(const Graph& graph, const std::string& path);

}  // namespace rematlas::explorer
