// Reads the forward pass of an exported program from the JSON of its archive.
#pragma once

#include <c10/core/Device.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <unordered_map>

#include "runtime/model/exported/graph.h"

namespace rematlas::exported {

/// A change of device: devices of type `from` in the program become `to`.
struct Move {
    c10::DeviceType from;
    c10::Device to;
};

/// A graph, and the index of each of its values by the name of the value in the file.
struct ReadForward {
    ForwardGraph graph;
    std::unordered_map<std::string, int> values;
};

/// `graph` must follow version 8 of the archive's schema. Throws a c10::Error with a message of one line if
/// an op is unknown or the file is damaged, and exceptions of nlohmann::json.
ReadForward read_graph(const nlohmann::json& graph, const Move& move);

}  // namespace rematlas::exported
