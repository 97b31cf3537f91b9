// Numbers and names as the views show them, in one place so that all views agree.
#pragma once

#include <QString>
#include <string>
#include <string_view>

#include "app/explorer/loaded/loaded_schedule.h"

namespace rematlas::explorer {

/// Characters that turn the order of writing are shown as escapes: "\u202e".
QString text(std::string_view utf8);
QString bytes_text(Bytes bytes);
/// At least four significant digits, rounded up: "1.234 GiB". Parses back to at least `bytes`.
QString precise_bytes(Bytes bytes);
QString time_text(Nanoseconds time);
QString percent_text(double share);      ///< 0.123 -> "12.3 %"
QString overhead_text(double overhead);  ///< 1.072 -> "+7.2 %"
/// "+448 us", "-448 us".
QString signed_time(Nanoseconds time);
QString signed_bytes(Bytes bytes);  ///< "+1.5 MiB", "-1.5 MiB"
QString decision_text(Decision decision);
QString phase_text(Phase phase);
QString kind_text(TensorKind kind);
/// Of an answer, as schedules and sweeps have it: "best possible" for optimal.
QString status_text(const std::string& status);

/// "convolution" for aten::convolution of layer1.0.conv1.
QString short_op_name(const Op& op);
/// "mm #12": the short name and the number.
QString numbered_op(const LoadedGraph& graph, OpId op);
/// Never empty: the last part of the path, else the phase.
QString block_name(const LoadedGraph& graph, BlockId block);
QString tensor_name(const LoadedGraph& graph, TensorId tensor);
/// "f32[8,3,224,224]"; empty where the graph does not say.
QString layout_text(const Graph& graph, TensorId tensor);
/// The line of the model that the tensor comes from; empty where the graph does not say.
QString source_text(const LoadedGraph& graph, TensorId tensor);
/// "layer1.0.conv1 (Conv2d)", or the path alone where the graph does not name the class.
QString module_text(const Graph& graph, const std::string& path);
Bytes bytes_made(const Graph& graph, OpId op);

}  // namespace rematlas::explorer
