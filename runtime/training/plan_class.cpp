#include "runtime/training/plan_class.h"

#include <set>

#include "core/base/files.h"
#include "core/base/sizes.h"
#include "core/checking/check.h"
#include "core/graph/graph_file.h"
#include "core/schedule/homes.h"
#include "core/schedule/loss_head.h"
#include "core/schedule/schedule_file.h"
#include "runtime/capture/build_graph.h"
#include "runtime/capture/optimizer_ops.h"
#include "runtime/replay/room.h"
#include "runtime/training/python_error.h"
#include "runtime/training/wire_bytes.h"

namespace rematlas {
namespace {

using nlohmann::json;

/// Reads [{"optimizer": {"name": "adamw", "lr": 0.001, ...}, "parameters": ["layer.weight", ...]}, ...].
std::vector<OptimizerGroup> groups_from(const std::string& text) {
    std::vector<OptimizerGroup> groups;
    for (const json& group : json::parse(text))
        groups.push_back({.optimizer = or_throw(optimizer_from_json(group.at("optimizer"))),
                          .parameters = group.at("parameters").get<std::vector<std::string>>()});
    return groups;
}

/// Reads {"sums": true, "updates": false, "clip_norm": 1.0, "scaled": true}. An absent field has the default
/// of StepEnd.
StepEnd step_end_from(const std::string& text) {
    const json item = json::parse(text);
    StepEnd end{.sums = item.value("sums", false),
                .updates = item.value("updates", true),
                .scaled = item.value("scaled", false)};
    if (item.contains("clip_norm")) end.clip_norm = item.at("clip_norm").get<double>();
    return end;
}

bool have_same_form(const Graph& a, const Graph& b) {
    const auto is_same_op = [](const Op& one, const Op& other) {
        return one.name == other.name && one.inputs == other.inputs && one.outputs == other.outputs;
    };
    return a.tensors.size() == b.tensors.size() &&
           std::equal(a.ops.begin(), a.ops.end(), b.ops.begin(), b.ops.end(), is_same_op) &&
           std::equal(a.tensors.begin(), a.tensors.end(), b.tensors.begin(),
                      [](const Tensor& one, const Tensor& other) {
                          return one.bytes == other.bytes && one.kind == other.kind;
                      });
}

}  // namespace

TorchPlan::TorchPlan(const c10::intrusive_ptr<TorchRecording>& first,
                     const c10::intrusive_ptr<TorchRecording>& second, const std::string& name)
    : device(second->device),
      planner(or_throw(Planner::create(*first->step, *second->step, name, *second->device))),
      outside(OutsideTensors::of_both(first->step->outside(), second->step->outside())) {}

TorchPlan::TorchPlan(const std::string& path, const std::string& device_name)
    : device(open_device_named(device_name)) {
    Plan plan = or_throw(read_plan_or_schedule(path));
    const CheckReport checked = check(plan.graph, plan.schedule);
    TORCH_CHECK(checked.ok(), "rematlas: ", path,
                ": the schedule is not valid for its graph: ", checked.violations.front());
    const Result<void> possible = moves_in_training(plan.graph, plan.schedule.steps, plan.schedule.homes);
    TORCH_CHECK(possible, "rematlas: ", path, ": the plan cannot run: ", possible.error().message);
    Tape tape = or_throw(tape_of(plan.graph));
    loaded = plan.schedule;
    planner = Planner::with(std::move(plan.graph), std::move(tape));
}

TorchPlan::TorchPlan(const std::string& path, const TorchPlan& recorded)
    : device(recorded.device), outside(recorded.outside) {
    Plan plan = or_throw(read_plan_or_schedule(path));
    TORCH_CHECK(have_same_form(plan.graph, recorded.planner->graph()),
                "rematlas: the plan of another process is one of another step");
    const CheckReport checked = check(plan.graph, plan.schedule);
    TORCH_CHECK(checked.ok(), "rematlas: the schedule of another process is not valid for its graph: ",
                checked.violations.front());
    loaded = plan.schedule;
    planner = Planner::with(std::move(plan.graph), recorded.planner->tape());
}

const Schedule* TorchPlan::schedule() {
    if (loaded) return &*loaded;
    const PlanAnswer* answer = planner->answer();
    return answer ? std::get_if<Schedule>(&answer->found) : nullptr;
}

void TorchPlan::bind(const std::vector<std::string>& names, const std::vector<at::Tensor>& tensors,
                     std::int64_t parameters, const std::string& owner, std::vector<at::Tensor> states) {
    const Schedule* found = schedule();
    TORCH_CHECK(found, "rematlas: there is no schedule yet");
    step =
        or_throw(PlannedStep::create(planner->shared_graph(), planner->tape(), *found,
                                     paired(names, tensors, parameters), owner, device, std::move(states)));
}

std::tuple<std::vector<at::Tensor>, std::int64_t, std::string> TorchPlan::forward(
    const std::vector<at::Tensor>& tensors, const std::vector<at::Tensor>& inputs, bool arena,
    bool measured) {
    if (outside.have_changed())
        return {
            {},
            -1,
            "a tensor that the forward reads, and that is no parameter, buffer or argument of the module, "
            "has changed: register it in the module, or pass it"};
    Result<PlannedForward> made = step->forward(tensors, inputs, arena, measured, original_of_frames());
    if (made) return {std::move(made->outputs), made->frame, ""};
    if (made.error().kind == ErrorKind::failure) throw_as_torch_does(made.error());
    return {{}, made.error().kind == ErrorKind::negative ? 0 : -1, made.error().message};
}

json TorchPlan::works(const PlanAnswer& answer, const Infeasible& infeasible) const {
    if (!infeasible.smallest_found) return nullptr;
    const Bytes bytes = *infeasible.smallest_found + answer.beside + planner->kept_by_loss();
    return {
        {"bytes", bytes.value},
        {"share", share_of(*infeasible.smallest_found, Budget::Of::peak, answer.step)},
        {"share_of_activations", share_of(*infeasible.smallest_found, Budget::Of::activations, answer.step)}};
}

std::string TorchPlan::answer() {
    const Graph& graph = planner->graph();
    const Tape& tape = planner->tape();
    std::int64_t gradients = 0;
    for (const GradientOf& made : tape.gradients)
        if (made.operand != no_operand)
            gradients += graph.tensors[tape.operands[made.operand].tensor].bytes.value;
    std::int64_t outputs = 0;
    for (const int operand : tape.outputs)
        if (operand != no_operand) outputs += graph.tensors[tape.operands[operand].tensor].bytes.value;
    std::set<TensorId> written;
    for (const Op& op : graph.ops)
        if (op.phase != Phase::optimizer) written.insert(op.mutates.begin(), op.mutates.end());
    std::int64_t written_bytes = 0;
    for (TensorId tensor : written) written_bytes += graph.tensors[tensor].bytes.value;
    const json none = json::object();
    const json& origin = graph.provenance && graph.provenance->is_object() ? *graph.provenance : none;
    json item = {{"ops", graph.ops.size()},
                 {"torch", origin.value("torch", std::string())},
                 {"updates", origin.value("optimizer", std::string())},
                 {"whole_peak_bytes", planner->whole_peak().value},
                 {"whole_held_bytes", (planner->whole_peak(2) - planner->whole_peak()).value},
                 {"resident_bytes", planner->residents().value},
                 {"gradient_bytes", gradients},
                 {"output_bytes", outputs},
                 {"written_bytes", written_bytes},
                 {"kept_by_loss_bytes", planner->kept_by_loss().value},
                 {"whole_wire_bytes", wire_bytes(graph, tape).value},
                 {"unused_outputs", tape.unused_outputs}};
    const Schedule* found = schedule();
    if (const PlanAnswer* answer = planner->answer()) {
        item["step_budget_bytes"] = answer->budget.value;
        item["beside_bytes"] = answer->beside.value;
        item["others_bytes"] = answer->others.value;
        if (const auto* error = std::get_if<Error>(&answer->found)) item["error"] = error->message;
        if (const auto* infeasible = std::get_if<Infeasible>(&answer->found)) {
            item["infeasible"] = {
                {"needed_bytes", infeasible->needed.value},
                {"proven", infeasible->proven},
                {"smallest_found_bytes",
                 infeasible->smallest_found ? json(infeasible->smallest_found->value) : json(nullptr)},
                {"reason", infeasible->reason},
                {"works", works(*answer, *infeasible)}};
        }
    }
    if (found) {
        if (const auto room = room_for(graph, found->steps, *device, found->homes, found->links)) {
            item["allocated_peak_bytes"] = room->allocated.value;
            item["reserved_peak_bytes"] = room->reserved.value;
            const std::int64_t arena = step ? step->memory.arena_bytes : 0;
            item["device_bytes"] =
                room->context.value + device->bytes_of_segments_in_use() - arena +
                std::max(room->reserved.value - residents_on_device(graph, found->homes).value, arena);
        }
        item["wire_bytes"] = wire_bytes(graph, tape, found->steps).value;
        item["solver"] = found->solver;
        item["peak_bytes"] = found->peak.value;
        item["budget_bytes"] = found->budget.value;
        item["overhead"] = found->overhead;
        item["time_ns"] = found->time.value;
        item["host_peak_bytes"] = found->host_peak ? json(found->host_peak->value) : json(0);
        item["bound"] = found->bound ? json(found->bound->overhead) : json(nullptr);
        item["gap"] = found->bound ? json(found->bound->gap) : json(nullptr);
    }
    return item.dump();
}

std::string TorchPlan::last() const {
    if (!step) return "{}";
    return json{{"peak_bytes", step->last_peak ? json(step->last_peak->value) : json()},
                {"arena_bytes", step->memory.arena_bytes},
                {"system_allocations", step->memory.system_allocations},
                {"originals", step->originals},
                {"why_original", step->why_original},
                {"open", step->open()}}
        .dump();
}

std::string TorchPlan::loss_head() const {
    const auto found = loss_head_at_peak(planner->graph(), flatten(planner->graph()));
    return found ? json_of(*found).dump() : "null";
}

std::string TorchPlan::graph_text() {
    CapturedStep step{.graph = planner->graph(), .tape = planner->tape()};
    or_throw(make_replayable(step, step.graph.name));
    return rematlas::graph_text(step.graph);
}

void TorchPlan::save(const std::string& path) {
    const Schedule* found = schedule();
    TORCH_CHECK(found, "rematlas: there is no schedule yet");
    const std::string text = graph_text();
    Schedule schedule = *found;
    schedule.graph_sha256 = sha256(text);
    or_throw(write_plan(text, schedule, path));
}

namespace {

using RecordingPtr = c10::intrusive_ptr<TorchRecording>;
using PlanPtr = c10::intrusive_ptr<TorchPlan>;
using Tensors = std::vector<at::Tensor>;

/// Defines the functions that make a schedule from recordings, and that describe the schedule.
void define_planning(torch::class_<TorchPlan>& plan) {
    plan.def(torch::init<const RecordingPtr&, const RecordingPtr&, const std::string&>())
        .def("start",
             [](const PlanPtr& self, const std::string& budget, const std::string& solver,
                const std::string& options, double seconds, std::int64_t frames, std::int64_t beside,
                const std::string& copies, bool in_arena) {
                 SolveRequest request{.solver = solver,
                                      .budget = or_throw(parse_budget(budget)),
                                      .copies = copies_from(copies)};
                 if (!options.empty()) request.options = std::make_shared<const json>(json::parse(options));
                 request.limits.time = std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
                 self->planner->start(std::move(request), static_cast<int>(frames), Bytes(beside), in_arena);
             })
        .def("weigh_collectives",
             [](const PlanPtr& self, double weight) {
                 self->planner = self->planner->with_wire_weight(weight);
             })
        .def("busy", [](const PlanPtr& self) { return self->planner->busy(); })
        .def("wait", [](const PlanPtr& self) { self->planner->wait(); })
        .def("answer", [](const PlanPtr& self) { return self->answer(); })
        .def("state_names",
             [](const PlanPtr& self) {
                 std::vector<std::string> names;
                 for (const StateTensor& state : self->planner->tape().states) names.push_back(state.name);
                 return names;
             })
        .def("gradient_names",
             [](const PlanPtr& self) {
                 std::vector<std::string> names;
                 for (const GradientOf& gradient : self->planner->tape().gradients)
                     names.push_back(gradient.parameter);
                 return names;
             })
        .def("trained_names",  // parameters whose gradients the step makes
             [](const PlanPtr& self) {
                 std::vector<std::string> names;
                 for (const GradientOf& gradient : self->planner->tape().gradients)
                     if (gradient.operand != no_operand && gradient.input < 0)
                         names.push_back(gradient.parameter);
                 return names;
             })
        .def("pack",
             [](const PlanPtr& self, const std::string& packing) { self->planner->note_packing(packing); })
        .def("packing", [](const PlanPtr& self) { return self->planner->tape().packing; })
        .def("loss_head", [](const PlanPtr& self) { return self->loss_head(); })
        .def("graph_text", [](const PlanPtr& self) { return self->graph_text(); })
        .def("save", [](const PlanPtr& self, const std::string& path) { self->save(path); });
}

/// Returns the plan of the same step by another planner.
PlanPtr with_planner(const PlanPtr& plan, std::shared_ptr<Planner> planner) {
    auto made = c10::make_intrusive<TorchPlan>(plan->device, std::move(planner));
    made->outside = plan->outside;
    return made;
}

/// Defines the functions that train by the schedule.
void define_steps(torch::class_<TorchPlan>& plan) {
    plan.def("bind", &TorchPlan::bind)
        .def("forward", &TorchPlan::forward)
        .def("on_card",
             [](const PlanPtr& self, const std::string& absent_device) {
                 const std::shared_ptr<DeviceRuntime> device = open_device_named(absent_device);
                 return c10::make_intrusive<TorchPlan>(device, self->planner->on_absent_device(*device));
             })
        .def("with_rank_costs",
             [](const PlanPtr& self, const std::string& costs) {
                 const RankCosts read = or_throw(rank_costs_from(costs));
                 return with_planner(self, or_throw(self->planner->with_rank_costs(read)));
             })
        .def("with_schedule_of",
             [](const PlanPtr& self, const std::string& path) {
                 return c10::make_intrusive<TorchPlan>(path, *self);
             })
        .def("with_optimizer",
             [](const PlanPtr& self, const std::string& groups, const std::string& end) {
                 return with_planner(self, or_throw(self->planner->with_optimizer(
                                               groups_from(groups), step_end_from(end), *self->device)));
             })
        .def("with_recorded_update",
             [](const PlanPtr& self, const c10::intrusive_ptr<TorchUpdateRecording>& recording,
                const std::string& what) {
                 return with_planner(self, or_throw(self->planner->with_recorded_update(
                                               recording->update(), what, *self->device)));
             })
        .def("rebind_states",
             [](const PlanPtr& self, const Tensors& states) {
                 or_throw(self->step->executor().rebind_states(states));
             })
        .def("change_numbers",
             [](const PlanPtr& self, const std::string& groups) {
                 or_throw(change_numbers(self->step->executor().change_values(), groups_from(groups)));
             })
        .def("set_sums_gradients", [](const PlanPtr& self, bool sums) { self->step->sums_gradients = sums; })
        .def("gradients_are_as_handed_out",
             [](const PlanPtr& self, const c10::List<std::optional<at::Tensor>>& gradients) {
                 std::vector<std::optional<at::Tensor>> asked(gradients.begin(), gradients.end());
                 return self->step && self->step->are_as_handed_out(asked);
             })
        .def("give_open_forwards_up",
             [](const PlanPtr& self) {
                 if (self->step) self->step->give_open_forwards_up();
             })
        .def("moves_buffers_late",
             [](const PlanPtr& self) { return self->step && self->step->executor().moves_buffers_late(); })
        .def("output_count",
             [](const PlanPtr& self) {
                 return static_cast<std::int64_t>(self->planner->tape().outputs.size());
             })
        .def("last", [](const PlanPtr& self) { return self->last(); })
        .def("open", [](const PlanPtr& self) {
            return self->step ? static_cast<std::int64_t>(self->step->open()) : std::int64_t{0};
        });
}

}  // namespace

void define_plan(torch::Library& library) {
    auto plan = library.class_<TorchPlan>("Plan");
    define_planning(plan);
    define_steps(plan);
    library.def("load_plan(str path, str device) -> __torch__.torch.classes.rematlas.Plan",
                [](const std::string& path, const std::string& device) {
                    return c10::make_intrusive<TorchPlan>(path, device);
                });
    library.def(
        "plan_from_shapes(__torch__.torch.classes.rematlas.Recording recording, str name, bool timed, "
        "str[] names, Tensor[] tensors) -> __torch__.torch.classes.rematlas.Plan",
        [](const RecordingPtr& recording, const std::string& name, bool timed,
           const std::vector<std::string>& names, const Tensors& tensors) {
            auto made = c10::make_intrusive<TorchPlan>(
                recording->device, or_throw(Planner::from_shapes(*recording->step, name, *recording->device,
                                                                 timed, paired(names, tensors, 0))));
            made->outside = OutsideTensors::of_both(recording->step->outside(), recording->step->outside());
            return made;
        });
}

}  // namespace rematlas
