// A model whose plan keeps residents on the host, before its first step: these never take memory of the
// device, which need not have room for all of them at a time.
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
    std::vector<NamedTensor> tensors;  ///< as given, each name with a tensor of the device
    std::vector<at::Tensor>
        states;  ///< of the optimizer, as before the first step, in the order of Tape::states
};

/// `tensors` are on the host. What is not at home there is copied to the device; of the others the memory stays
/// where it is, under a tensor of the device. No kernel may read these before the first step, which puts them
/// where it keeps them. Errors: no memory.
Result<PlacedTensors> place_by_homes(const std::vector<NamedTensor>& tensors, const Tape& tape,
                                     const Homes& homes, const DeviceRuntime& device);

}  // namespace rematlas
