// What schedules may copy to the memory of the host, and over which links.
//
//     Problem problem{graph, flat, {.what = Offload::activations, .links = graph.device->links}};
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/links.h"
#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace rematlas {

enum class Offload : std::uint8_t {
    none,
    activations,  ///< what ops make may be away; residents stay, and results are on the device at the end
    weights,  ///< residents may live on the host; results, and what the optimizer reads, may go there; and ops
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
    Links links = {};  ///< between host and device; both ways where anything may be copied
    std::optional<Bytes> host_budget = {};  ///< of the peak on the host
};

/// The smallest class that holds all schedules that copy no more than that.
ScheduleClass class_within(const Graph& graph, Offload what);

/// By tensor: whether copies to the host and back of it are allowed.
IdVector<TensorId, char> may_leave(const Graph& graph, Offload what);

/// By tensor: whether a result that may leave may be on the host when the step ends: gradients. What a model returns is
/// its caller's, who finds it on the device.
IdVector<TensorId, char> may_end_on_host(const Graph& graph, Offload what);

/// Errors: the schedule copies, keeps on the host or runs there what it may not.
Result<void> keeps_to(const Graph& graph, Offload what, const Schedule& schedule);

}  // namespace rematlas
