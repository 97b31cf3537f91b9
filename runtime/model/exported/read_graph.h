// Reads the forward pass of an exported program from the JSON of its archive.
#pragma once

#include <c10/core/Device.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <unordered_map>

#include "runtime/model/exported/graph.h"

namespace rematlas::exported {

/// Where the program was exported, and where it is to run: devices of the kind `from` in the program become
/// `to`.
struct Move {
    c10::DeviceType from;
    c10::Device to;
};

/// A graph and the numbers of its values by their names in the file.
struct ReadForward {
    ForwardGraph graph;
    std::unordered_map<std::string, int> values;
};

/// `graph` is in the archive's schema, version 8. Throws a c10::Error whose text is one line if an op is
/// unknown or the file is damaged, and exceptions of nlohmann::json.
ReadForward read_graph(const nlohmann::json& graph, const Move& move);

}  // namespace rematlas::exported
