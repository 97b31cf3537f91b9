// Defines which tensors schedules may copy to the memory of the host, and over which links.
//
//     Problem problem{graph, flat, {.what = Offload::activations, .links = graph.device->links}};
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/links.h"
#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace rematlas {

enum class Offload : std::uint8_t {
    none,
    /// Tensors made by ops may be offloaded. Residents stay on the device, and results must be on the device
    /// when the step ends.
    activations,
    /// Residents, except inputs, may live on the host. Results, and tensors that the optimizer reads or
    /// makes, may be offloaded. Ops that can run on the host may run there.
    weights,
    all,  ///< activations and weights
};

std::string_view to_string(Offload what);
std::optional<Offload> offload_from(std::string_view text);

/// Says whether `most` allows everything that `what` allows.
constexpr bool is_within(Offload what, Offload most) {
    return what == most || what == Offload::none || most == Offload::all;
}
constexpr bool moves_activations(Offload what) {
    return what == Offload::activations || what == Offload::all;
}
constexpr bool moves_weights(Offload what) {
    return what == Offload::weights || what == Offload::all;
}

struct Copies {
    Offload what = Offload::none;
    /// Whether a training program runs the step, holds the parameters and gets the results. If so, inputs and
    /// buffers stay on the device. Parameters and optimizer states may be offloaded only if their home is on
    /// the host, where the program then finds their complete values. Results end on the device.
    bool in_training = false;
    Links links = {};  ///< between host and device; must have both directions if anything may be copied
    std::optional<Bytes> host_budget = {};  ///< limit on the peak of the host; absent: no limit
    /// Tensors that the program receives before the step ends and may keep. They stay on the device.
    std::vector<TensorId> held = {};
    bool operator==(const Copies&) const = default;
};

/// Returns the smallest class that contains all schedules that copy no more than `what` allows.
ScheduleClass class_within(const Graph& graph, Offload what);

/// Returns, by tensor, whether the tensor may be copied to the host and back. Residents that no op of the
/// step uses, such as workspaces of libraries, stay on the device, because code outside the step holds them.
/// Inputs stay on the device, because they belong to the caller.
IdVector<TensorId, char> may_leave(const Graph& graph, const Copies& copies);

/// Returns, by tensor, whether the tensor is a result that may be on the host when the step ends. This is
/// allowed only for gradients, because the caller of a model expects its outputs on the device.
IdVector<TensorId, char> may_end_on_host(const Graph& graph, const Copies& copies);

/// Checks that a training program can run the steps (see Copies::in_training). Errors: one line that names
/// the first forbidden tensor or op, and the reason.
Result<void> moves_in_training(const Graph& graph, std::span<const Step> steps, const Homes& homes);

/// Checks that the schedule copies no more than `copies` allows. Errors: the schedule copies a tensor, keeps
/// a tensor on the host or runs an op on the host, and `copies` forbids this.
Result<void> keeps_to(const Graph& graph, const Copies& copies, const Schedule& schedule);

}  // namespace rematlas
