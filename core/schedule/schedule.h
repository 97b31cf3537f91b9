// A schedule: the ordered steps of one training step, with what was predicted for it.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/base/links.h"
#include "core/schedule/pin.h"

namespace rematlas {

enum class StepKind : std::uint8_t { run, run_inplace, free, offload, fetch, drop, run_host };

std::string_view to_string(StepKind kind);

/// `id` is an op for run, run_inplace and run_host, a tensor for the others. core/schedule/README.md says
/// what each means.
struct Step {
    StepKind kind = StepKind::run;
    std::int32_t id = -1;

    static Step run(OpId op) { return {StepKind::run, op.value}; }
    static Step run_inplace(OpId op) { return {StepKind::run_inplace, op.value}; }
    static Step free(TensorId t) { return {StepKind::free, t.value}; }
    static Step offload(TensorId t) { return {StepKind::offload, t.value}; }
    static Step fetch(TensorId t) { return {StepKind::fetch, t.value}; }
    static Step drop(TensorId t) { return {StepKind::drop, t.value}; }
    static Step run_host(OpId op) { return {StepKind::run_host, op.value}; }

    /// Whether the step runs an op on the device.
    bool runs() const { return kind == StepKind::run || kind == StepKind::run_inplace; }
    bool names_op() const { return runs() || kind == StepKind::run_host; }
    OpId op() const { return OpId(id); }
    TensorId tensor() const { return TensorId(id); }
    bool operator==(const Step&) const = default;
};

/// A class of schedules, from the smallest to the largest: each holds those before it.
enum class ScheduleClass : std::uint8_t {
    staged,                  ///< Checkmate's stages in the graph's order (core/solvers/staged/staged_model.h)
    any_order,               ///< any order of the ops, any reruns
    with_activation_copies,  ///< the same, with copies of tensors made by ops; results end on the device
    with_copies,             ///< the same, with copies of any tensors
    with_host_ops,           ///< the same, with ops that run on the host
};

/// The text in files, `bound.class`.
std::string_view to_string(ScheduleClass of);
std::optional<ScheduleClass> schedule_class_from(std::string_view text);

/// Whether a bound on all schedules of class `of` holds for those of class `over`.
constexpr bool holds_for(ScheduleClass of, ScheduleClass over) {
    return of >= over;
}

/// How many steps run an op on the host.
int host_runs(const std::vector<Step>& steps);

/// The class that a list of steps belongs to, as far as its kinds of steps tell.
ScheduleClass class_of(const std::vector<Step>& steps);

/// A proven lower bound on the overhead, over all schedules of a class.
struct Bound {
    double overhead = 1.0;
    double gap = 0.0;                   ///< (overhead of the schedule - bound) / bound
    std::optional<ScheduleClass> over;  ///< none where a file names a class that is not known here
    double seconds = 0;  ///< spent on all bounds for this answer, also on those that a better bound replaced
    /// Nodes of the last branch and bound for this answer; none where no mixed-integer programme was solved.
    std::optional<std::int64_t> nodes = {};
};

/// Planned addresses as they stand in files; core/addresses makes and checks them.
struct Addresses {
    std::int64_t alignment = 64;  ///< bytes, of every offset
    Bytes arena;                  ///< residents included; the budget bounds it
    std::vector<Bytes> offsets;   ///< in the order of AddressPlan::placements
    bool operator==(const Addresses&) const = default;
};

/// Where the step finds residents when it starts, and leaves them when it ends.
struct Homes {
    std::vector<TensorId> on_host;     ///< residents that are kept on the host, and results that end there
    std::vector<TensorId> stays = {};  ///< of these residents: on the device too, at the start and at the end
    bool cyclic = false;               ///< the next step starts while copies of these residents are under way
    bool operator==(const Homes&) const = default;
};

struct Schedule {
    std::string graph;  ///< name of the graph
    std::string graph_sha256 = {};
    std::string solver = {};
    std::shared_ptr<const nlohmann::json> config = {};  ///< the solver's options; null when default
    Bytes budget = {};
    Nanoseconds time = {};  ///< predicted
    double overhead = 1.0;  ///< predicted time over the time of the step without recomputation
    Bytes peak = {};        ///< predicted
    std::optional<Bytes> host_budget = {};  ///< limit on the bytes that the host holds
    std::optional<Bytes> host_peak = {};    ///< predicted
    std::optional<Bound> bound = {};
    std::string status = {};  ///< optimal or feasible
    double solve_seconds = 0;
    std::vector<Step> steps;
    Homes homes = {};
    /// The links for which the schedule was made, where they differ from those of the graph's device.
    std::optional<Links> links = {};
    Pins pins = {};  ///< decisions that were the user's; `bound` is over the schedules that obey them
    std::optional<Addresses> addresses = {};  ///< when they were planned: the budget then bounds the arena
    /// The indices, ascending, of the `free` steps by which online eviction made room. Empty where the steps
    /// were planned.
    std::vector<std::int32_t> evicted = {};
};

}  // namespace rematlas
