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
    activations,  ///< what ops make may be away; residents stay, and results are on the device at the end
    weights,  ///< residents, but for inputs, may live on the host; results, and what the optimizer reads, may go there; and ops
              ///< run there that can
    all,      ///< both
};

std::string_view to_string(Offload what);
std::optional<Offload> offload_from(std::string_view text);

/// Whether all that `what` allows is allowed by `most`.
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
    /// The step is one of a training program that holds its parameters and gets the results: inputs and buffers stay,
    /// parameters and optimizer states leave the device only where their home is on the host, so that the program
    /// finds them whole there, and results end on the device.
    bool in_training = false;
    Links links = {};  ///< between host and device; both ways where anything may be copied
    std::optional<Bytes> host_budget = {};  ///< of the peak on the host
    /// Tensors that the program is handed before the step is over, and may hold: these stay.
    std::vector<TensorId> held = {};
    bool operator==(const Copies&) const = default;
};

/// The smallest class that holds all schedules that copy no more than that.
ScheduleClass class_within(const Graph& graph, Offload what);

/// By tensor: whether copies to the host and back of it are allowed. Residents that no op of the step uses are held by
/// others (workspaces of libraries), and inputs are the caller's: they stay.
IdVector<TensorId, char> may_leave(const Graph& graph, const Copies& copies);

/// By tensor: whether a result that may leave may be on the host when the step ends: gradients. What a model returns is
/// its caller's, who finds it on the device.
IdVector<TensorId, char> may_end_on_host(const Graph& graph, const Copies& copies);

/// Whether a training program can run the steps, see Copies::in_training. Errors: the first tensor or op that stands against
/// it, and why, in one line.
Result<void> moves_in_training(const Graph& graph, std::span<const Step> steps, const Homes& homes);

/// Errors: the schedule copies, keeps on the host or runs there what it may not.
Result<void> keeps_to(const Graph& graph, const Copies& copies, const Schedule& schedule);

}  // namespace rematlas
