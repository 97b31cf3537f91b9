// Places the tensors of a model before the first step, if the plan keeps residents on the host. These
// residents stay in host memory, so the device need not have memory for all tensors of the model at once.
//
//     Model model = load_model(path, c10::DeviceType::CPU).take();
//     PlacedTensors placed = place_by_homes(model.tensors, tape, schedule.homes, *device).take();
//     Executor::create(graph, tape, placed.tensors, "model.pt", *device, placed.states);
#pragma once

#include <vector>

#include "core/base/result.h"
#include "core/schedule/schedule.h"
#include "runtime/device/device.h"
#include "runtime/model/named_tensor.h"
#include "runtime/replay/tape.h"

namespace rematlas {

struct PlacedTensors {
    std::vector<NamedTensor> tensors;  ///< the given names, each with a tensor of the device
    std::vector<at::Tensor>
        states;  ///< tensors of the optimizer as before the first step, in the order of Tape::states
};

/// `tensors` must be on the host. Tensors whose home in `homes` is not the host are copied to the device. The
/// other tensors keep their memory on the host, but get the device type of the device. No kernel may read
/// these tensors before the first step, which moves them to the host memory that the executor keeps for them.
/// Fails if there is not enough memory.
Result<PlacedTensors> place_by_homes(const std::vector<NamedTensor>& tensors, const Tape& tape,
                                     const Homes& homes, const DeviceRuntime& device);

}  // namespace rematlas
