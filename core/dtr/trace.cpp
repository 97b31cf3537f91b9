#include "core/dtr/trace.h"

#include <algorithm>
#include <utility>

namespace rematlas {

int Trace::constant(std::int64_t bytes) {
    const int tensor = call({}, {{.bytes = bytes}}).front();
    pin(tensor);
    return tensor;
}

const std::vector<int>& Trace::call(Op op, const std::vector<Output>& outputs) {
    const int id = static_cast<int>(ops.size());
    for (const Output& output : outputs) {
        const bool view = output.view_of >= 0;
        const int storage =
            view ? tensors[op.inputs[output.view_of]].storage : static_cast<int>(bytes.size());
        if (!view) bytes.push_back(output.bytes);
        op.outputs.push_back(static_cast<int>(tensors.size()));
        tensors.push_back({id, storage, view});
    }
    total_time += op.time;
    ops.push_back(std::move(op));
    program.push_back({Step::call, id});
    return ops.back().outputs;
}

std::vector<Trace::Output> Trace::outputs_of(int op) const {
    std::vector<Output> outputs;
    for (const int t : ops[op].outputs) {
        Output output{.bytes = bytes[tensors[t].storage]};
        if (tensors[t].view) {
            const auto of = std::find_if(ops[op].inputs.begin(), ops[op].inputs.end(), [&](int input) {
                return tensors[input].storage == tensors[t].storage;
            });
            output = {.bytes = 0, .view_of = static_cast<int>(of - ops[op].inputs.begin())};
        }
        outputs.push_back(output);
    }
    return outputs;
}

void name_as(std::vector<int>& names, int id, int in_trace) {
    if (static_cast<int>(names.size()) <= id) names.resize(static_cast<std::size_t>(id) + 1, -1);
    names[id] = in_trace;
}

}  // namespace rematlas
