#include "runtime/transfers/in_training.h"

namespace rematlas {

Result<void> check_moves_in_training(const Graph& graph, std::span<const Step> steps, const Homes& homes) {
    const IdVector<TensorId, OpId> producer = producers(graph);
    const auto refuse = [&](TensorId t, const char* why) {
        return Error{"the plan cannot run: " + graph.tensors[t].name + " " + why};
    };
    for (TensorId t : homes.on_host)
        return refuse(t, producer[t].valid()
                             ? "ends on the host: in training results are handed out on the device"
                             : "lives on the host between steps: in training the optimizer outside of the "
                               "step needs it on the device");
    for (const Step& step : steps) {
        if (step.names_op() || producer[step.tensor()].valid()) continue;
        return refuse(step.tensor(),
                      "leaves the device within the step: in training, where the caller may look at "
                      "parameters, buffers and inputs at any time, only what the step makes can");
    }
    return {};
}

}  // namespace rematlas
