// Places the tensors of a model whose plan keeps residents on the host, before the first step. These
// residents never take memory of the device, which need not have room for all of them at a time.
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

/// `tensors` are on the host. Tensors that do not live there by `homes` are copied to the device. The
/// memory of the others stays where it is, under a tensor of the device. No kernel may read those before
/// the first step, which moves them to the memory that it keeps for them. Errors: no memory.
Result<PlacedTensors> place_by_homes(const std::vector<NamedTensor>& tensors, const Tape& tape,
                                     const Homes& homes, const DeviceRuntime& device);

}  // namespace rematlas
