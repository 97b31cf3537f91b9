// A schedule: the ordered steps of one training step, with the predicted time and memory.
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

/// One step. `id` is an op for run, run_inplace and run_host, and a tensor for the other kinds.
/// docs/concepts/schedules.md explains each kind.
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

    /// Says whether the step runs an op on the device.
    bool runs() const { return kind == StepKind::run || kind == StepKind::run_inplace; }
    bool names_op() const { return runs() || kind == StepKind::run_host; }
    OpId op() const { return OpId(id); }
    TensorId tensor() const { return TensorId(id); }
    bool operator==(const Step&) const = default;
};

/// Classes of schedules, from the smallest to the largest. Each class contains the classes before it.
enum class ScheduleClass : std::uint8_t {
    staged,                  ///< Checkmate's stages in the graph's order (core/solvers/staged/staged_model.h)
    any_order,               ///< any order of the ops, any reruns
    with_activation_copies,  ///< also copies of tensors made by ops; results end on the device
    with_copies,             ///< also copies of any tensors
    with_host_ops,           ///< also ops that run on the host
};

/// Returns the word for the class in files (field `bound.class`).
std::string_view to_string(ScheduleClass of);
std::optional<ScheduleClass> schedule_class_from(std::string_view text);

/// Says whether a bound on all schedules of class `of` also holds for all schedules of class `over`.
constexpr bool holds_for(ScheduleClass of, ScheduleClass over) {
    return of >= over;
}

/// Returns how many steps run an op on the host.
int host_runs(const std::vector<Step>& steps);

/// Returns `with_host_ops` if an op runs on the host, else `with_copies` if there are copies, else
/// `any_order`. The kinds of steps do not show the other classes.
ScheduleClass class_of(const std::vector<Step>& steps);

/// A proven lower bound on the overhead of all schedules of a class.
struct Bound {
    double overhead = 1.0;
    double gap = 0.0;                   ///< (overhead of the schedule - bound) / bound
    std::optional<ScheduleClass> over;  ///< absent if a file names an unknown class
    /// Time spent on all bounds for this answer, including bounds that a better one replaced.
    double seconds = 0;
    /// Nodes of the last branch and bound for this answer; absent if no integer program was solved.
    std::optional<std::int64_t> nodes = {};
};

/// Planned addresses, in the form of the file; core/addresses makes and checks them.
struct Addresses {
    std::int64_t alignment = 64;  ///< every offset is a multiple of this many bytes
    Bytes arena;                  ///< bytes of the arena, with the residents; at most the budget
    std::vector<Bytes> offsets;   ///< offset of each placement, in the order of AddressPlan::placements
    bool operator==(const Addresses&) const = default;
};

/// The places of residents when the training step starts. The residents must return to these places before
/// the training step ends.
struct Homes {
    std::vector<TensorId> on_host;  ///< residents that are kept on the host, and results that are on the host
                                    ///< at the end
    /// Residents of `on_host` that are also on the device at the start and at the end.
    std::vector<TensorId> stays = {};
    bool cyclic = false;  ///< whether the next training step may start while residents are still copied
    bool operator==(const Homes&) const = default;
};

struct Schedule {
    std::string graph;  ///< name of the graph
    std::string graph_sha256 = {};
    std::string solver = {};
    std::shared_ptr<const nlohmann::json> config = {};  ///< the solver's options; null if all are defaults
    Bytes budget = {};
    Nanoseconds time = {};  ///< predicted
    double overhead = 1.0;  ///< predicted time, divided by the time of the step without recomputation
    Bytes peak = {};        ///< predicted
    std::optional<Bytes> host_budget = {};  ///< limit on the bytes on the host
    std::optional<Bytes> host_peak = {};    ///< predicted
    std::optional<Bound> bound = {};
    std::string status = {};  ///< optimal or feasible
    double solve_seconds = 0;
    std::vector<Step> steps;
    Homes homes = {};
    /// The links that the schedule was made for, if they differ from the links of the graph's device.
    std::optional<Links> links = {};
    Pins pins = {};  ///< the user's decisions; `bound` holds for the schedules that obey them
    std::optional<Addresses> addresses = {};  ///< if present, the budget bounds the arena
    /// Indices of the `free` steps that online eviction made, in ascending order. Empty if a solver planned
    /// the steps.
    std::vector<std::int32_t> evicted = {};
};

}  // namespace rematlas
