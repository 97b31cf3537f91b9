#include "core/dtr/trace.h"

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
        if (!view) {
            bytes.push_back(output.bytes);
            total_bytes += output.bytes;
        }
        op.outputs.push_back(static_cast<int>(tensors.size()));
        tensors.push_back({id, storage, view});
    }
    total_time += op.time;
    total_bytes += op.workspace;
    ops.push_back(std::move(op));
    program.push_back({Step::call, id});
    return ops.back().outputs;
}

}  // namespace rematlas
