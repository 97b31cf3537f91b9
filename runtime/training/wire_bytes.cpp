#include "runtime/training/wire_bytes.h"

#include <string_view>

#include "runtime/dispatch/collectives.h"

namespace rematlas {

Bytes wire_bytes(const Graph& graph, const Tape& tape, OpId op) {
    const std::string_view name = tape.ops[op].name;
    if (!is_collective(name)) return {};
    Bytes given, made;
    for (const TensorId tensor : graph.ops[op].inputs) given += graph.tensors[tensor].bytes;
    for (const TensorId tensor : graph.ops[op].outputs) made += graph.tensors[tensor].bytes;
    if (name.find("all_gather") != name.npos || name.find("reduce_scatter") != name.npos)
        return made > given ? made - given : given - made;
    const Bytes moved = made > Bytes() ? made : given;
    return name.find("all_reduce") != name.npos || name.find("allreduce") != name.npos ? moved + moved
                                                                                       : moved;
}

Bytes wire_bytes(const Graph& graph, const Tape& tape, const std::vector<Step>& steps) {
    Bytes sum;
    for (const Step& step : steps)
        if (step.runs()) sum += wire_bytes(graph, tape, step.op());
    return sum;
}

Bytes wire_bytes(const Graph& graph, const Tape& tape) {
    Bytes sum;
    for (const OpId op : graph.ops.ids()) sum += wire_bytes(graph, tape, op);
    return sum;
}

}  // namespace rematlas
