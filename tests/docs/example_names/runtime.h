// Names that the examples at the top of the runtime's headers use without defining them (in addition to
// core.h).
#pragma once

#include <ATen/Functions.h>
#include <torch/csrc/jit/serialization/import.h>

#include "core/costs/device_profile.h"
#include "runtime/capture/recorded_update_ops.h"
#include "runtime/device/device.h"
#include "runtime/model/load_model.h"
#include "runtime/model/named_tensor.h"
#include "runtime/model/torchscript.h"
#include "runtime/replay/compare.h"
#include "runtime/replay/tape.h"
#include "runtime/transfers/copy_queues.h"

namespace rematlas::example_names {

/// A device. Examples can pass it to functions that take a `DeviceRuntime` or a `c10::Device`.
struct AnyDevice {
    DeviceRuntime& operator*() const;
    operator DeviceRuntime&() const;
    operator c10::Device() const;
};
extern const AnyDevice device;
extern Model model;
extern const Tape tape;
extern const std::vector<NamedTensor> tensors;
extern const std::vector<InputSpec> specs;
extern std::vector<at::Tensor> inputs;
extern const std::vector<at::Tensor> outputs, parameters, gradients;
extern CopyQueues& copies;
extern const std::size_t bytes;

}  // namespace rematlas::example_names
