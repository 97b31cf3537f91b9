// What schedules may copy to the memory of the host, and over which links.
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
    activations,  ///< tensors made by ops may leave; residents stay, results are on the device at the end
    /// Residents, except inputs, may live on the host. Results, and tensors that the optimizer reads, may go
    /// there. Ops that can run on the host may run there.
    weights,
    all,  ///< both
};

std::string_view to_string(Offload what);
std::optional<Offload> offload_from(std::string_view text);

/// Whether `most` allows everything that `what` allows.
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
    /// Whether the step is one of a training program that holds its parameters and gets the results. Inputs
    /// and buffers then stay. Parameters and optimizer states leave the device only where their home is on
    /// the host, so that the program finds them whole there. Results end on the device.
    bool in_training = false;
    Links links = {};  ///< between host and device; both ways where anything may be copied
    std::optional<Bytes> host_budget = {};  ///< limit on the peak on the host
    /// Tensors that the program gets before the step is over, and may hold. These tensors stay on the
    /// device.
    std::vector<TensorId> held = {};
    bool operator==(const Copies&) const = default;
};

/// The smallest class that holds all schedules that copy no more than `what` allows.
ScheduleClass class_within(const Graph& graph, Offload what);

/// By tensor: whether the tensor may be copied to the host and back. Residents that no op of the step uses
/// stay, because others hold them (workspaces of libraries). Inputs stay, because they are the caller's.
IdVector<TensorId, char> may_leave(const Graph& graph, const Copies& copies);

/// By tensor: whether the tensor is a result that may be on the host when the step ends. Only gradients may:
/// the outputs of a model are its caller's, who finds them on the device.
IdVector<TensorId, char> may_end_on_host(const Graph& graph, const Copies& copies);

/// Whether a training program can run the steps, see Copies::in_training. Errors: the first tensor or op
/// that prevents it, and the reason, in one line.
Result<void> moves_in_training(const Graph& graph, std::span<const Step> steps, const Homes& homes);

/// Errors: the schedule copies a tensor, keeps a tensor on the host or runs an op there, and `copies` forbids
/// it.
Result<void> keeps_to(const Graph& graph, const Copies& copies, const Schedule& schedule);

}  // namespace rematlas
