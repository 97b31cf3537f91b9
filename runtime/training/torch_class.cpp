// torch.classes.rematlas.Recording, Plan and Comparison, and torch.ops.rematlas: what the Python package
// stands on.
//
//     torch.ops.load_library("librematlas_training.so")
//
// Errors are RuntimeErrors of one line. Answers of several fields are JSON.
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <torch/custom_class.h>

#include <atomic>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/files.h"
#include "core/base/sizes.h"
#include "core/checking/check.h"
#include "core/costs/link_profile.h"
#include "core/graph/graph_file.h"
#include "core/planning/config.h"
#include "core/schedule/homes.h"
#include "core/schedule/schedule_file.h"
#include "core/solving/copies.h"
#include "runtime/allocator/counting_allocator.h"
#include "runtime/capture/build_graph.h"
#include "runtime/capture/optimizer_ops.h"
#include "runtime/device/host_tensors.h"
#include "runtime/replay/room.h"
#include "runtime/shapes/shape_tensor.h"
#include "runtime/training/open_devices.h"
#include "runtime/training/planned_step.h"
#include "runtime/training/planner.h"
#include "runtime/training/python_error.h"
#include "runtime/training/step_recording.h"
#include "runtime/training/trial_run.h"
#include "runtime/training/within_eviction.h"

namespace rematlas {
namespace {

using nlohmann::json;

template <class T>
T or_throw(Result<T> result) {
    TORCH_CHECK(result, "rematlas: ", result.error().message);
    return result.take();
}

std::vector<NamedTensor> paired(const std::vector<std::string>& names, const std::vector<at::Tensor>& tensors,
                                std::int64_t parameters) {
    TORCH_CHECK(names.size() == tensors.size(), "rematlas: ", names.size(), " names for ", tensors.size(),
                " tensors");
    std::vector<NamedTensor> pairs;
    for (std::size_t i = 0; i < names.size(); ++i)
        pairs.push_back({names[i], tensors[i], static_cast<std::int64_t>(i) < parameters});
    return pairs;
}

// How Python is asked to run an original's forward, told that gradients are taken and that such a backward is over, and of frames
// that are gone: see `set_callbacks`.
enum class Asked { original = 0, taken = 1, over = 2, hooks = 3 };
using AskCallback = void (*)(std::int64_t frame, int what);
using ForgetCallback = void (*)(std::int64_t frame, void* nothing);
std::atomic<AskCallback> ask_callback{nullptr};
std::atomic<ForgetCallback> forget_callback{nullptr};
std::map<std::int64_t, std::vector<at::Tensor>> handed_inputs, handed_outputs;
std::map<std::int64_t, std::vector<bool>> handed_uses;
std::set<std::int64_t> handed_hooks;  ///< frames
std::mutex handed_mutex;

/// What the original raises is thrown as Python's own exception.
std::vector<at::Tensor> run_original(std::int64_t frame, const std::vector<at::Tensor>& inputs,
                                     const std::vector<bool>& used) {
    const AskCallback ask = ask_callback.load();
    TORCH_CHECK(ask, "rematlas: nobody runs the original");
    look_for_signals();  // those that wait would be the end of the first Python code that runs, where nobody takes them
    raise_python_errors();
    {
        const std::lock_guard lock(handed_mutex);
        handed_inputs[frame] = inputs;
        handed_uses[frame] = used;
    }
    ask(frame, static_cast<int>(Asked::original));
    raise_python_errors();
    const std::lock_guard lock(handed_mutex);
    auto outputs = handed_outputs.extract(frame);
    TORCH_CHECK(outputs, "rematlas: the original gave no outputs");
    return std::move(outputs.mapped());
}

void forget_frame(std::int64_t frame) {
    const ForgetCallback forget = forget_callback.load();
    if (!forget) return;
    const PythonErrorAside aside;
    forget(frame, nullptr);
}

bool has_hooks(std::int64_t frame) {
    const AskCallback ask = ask_callback.load();
    if (!ask) return true;
    ask(frame, static_cast<int>(Asked::hooks));
    const std::lock_guard lock(handed_mutex);
    return handed_hooks.erase(frame) > 0;
}

void tell_of_taken(std::int64_t frame) {
    if (const AskCallback ask = ask_callback.load()) ask(frame, static_cast<int>(Asked::taken));
}

void tell_of_end(std::int64_t frame) {
    if (const AskCallback ask = ask_callback.load()) ask(frame, static_cast<int>(Asked::over));
    if (is_main_thread()) raise_python_errors();
}

/// [{"optimizer": {"name": "adamw", "lr": 0.001, ...}, "parameters": ["layer.weight", ...]}, ...]
std::vector<OptimizerGroup> groups_from(const std::string& text) {
    std::vector<OptimizerGroup> groups;
    for (const json& group : json::parse(text))
        groups.push_back({.optimizer = or_throw(optimizer_from_json(group.at("optimizer"))),
                          .parameters = group.at("parameters").get<std::vector<std::string>>()});
    return groups;
}

/// {"sums": true, "updates": false, "clip_norm": 1.0, "scaled": true}; what is not there is as in StepEnd.
StepEnd step_end_from(const std::string& text) {
    const json item = json::parse(text);
    StepEnd end{.sums = item.value("sums", false),
                .updates = item.value("updates", true),
                .scaled = item.value("scaled", false)};
    if (item.contains("clip_norm")) end.clip_norm = item.at("clip_norm").get<double>();
    return end;
}

/// {"offload": "all", "links": "pcie4", "host_budget": "100GiB"}; "" for none. Links by name, or by the path of a
/// profile; none stand for the graph's.
Copies copies_from(const std::string& text) {
    if (text.empty()) return {};
    const json item = json::parse(text);
    const std::string name = item.at("offload").get<std::string>();
    const std::optional<Offload> what = offload_from(name);
    TORCH_CHECK(what, "rematlas: offload is '", name, "'; expected none, activations, weights or all");
    Copies copies{.what = *what, .in_training = true};
    if (item.contains("links")) copies.links = or_throw(links_named(item.at("links").get<std::string>()));
    if (item.contains("host_budget"))
        copies.host_budget = or_throw(parse_bytes(item.at("host_budget").get<std::string>()));
    return copies;
}

StepRecording::Kind kind_named(const std::string& name) {
    if (name == "from shapes") return StepRecording::Kind::from_shapes;
    return name == "with audit" ? StepRecording::Kind::real_with_audit : StepRecording::Kind::real;
}

struct TorchRecording : torch::CustomClassHolder {
    TorchRecording(const std::vector<std::string>& names, const std::vector<at::Tensor>& tensors,
                   std::int64_t parameters, const std::vector<at::Tensor>& inputs,
                   const std::string& device_name, const std::string& kind)
        : device(open_device_named(device_name)),
          step(std::make_shared<StepRecording>(paired(names, tensors, parameters), inputs, *device,
                                               kind_named(kind))) {}
    std::shared_ptr<DeviceRuntime> device;
    std::shared_ptr<StepRecording> step;
};

struct TorchPlan : torch::CustomClassHolder {
    TorchPlan(const c10::intrusive_ptr<TorchRecording>& first,
              const c10::intrusive_ptr<TorchRecording>& second, const std::string& name)
        : device(second->device),
          planner(or_throw(Planner::create(*first->step, *second->step, name, *second->device))),
          passed_inputs(second->step->passed_inputs()) {}
    TorchPlan(const c10::intrusive_ptr<TorchRecording>& from_shapes, const std::string& name, bool timed,
              const std::vector<NamedTensor>& there)
        : device(from_shapes->device),
          planner(
              or_throw(Planner::from_shapes(*from_shapes->step, name, *from_shapes->device, timed, there))),
          passed_inputs(from_shapes->step->passed_inputs()) {}
    TorchPlan(const std::string& path, const std::string& device_name)
        : device(open_device_named(device_name)) {
        Plan plan = or_throw(read_plan_or_schedule(path));
        const CheckReport checked = check(plan.graph, plan.schedule);
        TORCH_CHECK(checked.ok(), "rematlas: ", path,
                    ": the schedule is not valid for its graph: ", checked.violations.front());
        const Result<void> possible = moves_in_training(plan.graph, plan.schedule.steps, plan.schedule.homes);
        TORCH_CHECK(possible, "rematlas: ", path, ": the plan cannot run: ", possible.error().message);
        Tape tape = or_throw(tape_of(plan.graph));
        passed_inputs.assign(tape.outputs.size(), -1);
        loaded = plan.schedule;
        planner = Planner::with(std::move(plan.graph), std::move(tape));
    }

    TorchPlan(const TorchPlan& plain, const std::string& groups, const std::string& end)
        : device(plain.device),
          planner(or_throw(
              plain.planner->with_optimizer(groups_from(groups), step_end_from(end), *plain.device))),
          passed_inputs(plain.passed_inputs) {}

    const Schedule* schedule() {
        if (loaded) return &*loaded;
        const PlanAnswer* answer = planner->answer();
        return answer ? std::get_if<Schedule>(&answer->found) : nullptr;
    }

    /// Binds the schedule that was found last. `states`: of the optimizer, where the step ends with its updates.
    void bind(const std::vector<std::string>& names, const std::vector<at::Tensor>& tensors,
              std::int64_t parameters, const std::string& owner, std::vector<at::Tensor> states = {}) {
        const Schedule* found = schedule();
        TORCH_CHECK(found, "rematlas: there is no schedule yet");
        step = or_throw(PlannedStep::create(planner->shared_graph(), planner->tape(), *found,
                                            paired(names, tensors, parameters), owner, device,
                                            std::move(states)));
    }

    /// Outputs, the number of the frame, and why there are none: then the original has to run. The number is
    /// 0 then where the program's course has changed, and -1 where tensors do not fit the plan.
    std::tuple<std::vector<at::Tensor>, std::int64_t, std::string> forward(
        const std::vector<at::Tensor>& tensors, const std::vector<at::Tensor>& inputs, bool arena,
        bool measured) {
        Result<PlannedForward> made =
            step->forward(tensors, inputs, arena, measured,
                          {&run_original, &forget_frame, &tell_of_taken, &tell_of_end, &has_hooks});
        if (made) return {std::move(made->outputs), made->frame, ""};
        if (made.error().kind == ErrorKind::failure) throw_as_torch_does(made.error());
        return {{}, made.error().kind == ErrorKind::negative ? 0 : -1, made.error().message};
    }

    /// A budget that is known to work: in bytes with what lives beside the step, and as shares. Null where none is known.
    json works(const PlanAnswer& answer, const Infeasible& infeasible) const {
        if (!infeasible.smallest_found) return nullptr;
        const Bytes bytes = *infeasible.smallest_found + answer.beside + planner->kept_by_loss();
        return {{"bytes", bytes.value},
                {"share", share_of(*infeasible.smallest_found, Budget::Of::peak, answer.step)},
                {"share_of_activations",
                 share_of(*infeasible.smallest_found, Budget::Of::activations, answer.step)}};
    }

    std::string answer() {
        const Graph& graph = planner->graph();
        const Tape& tape = planner->tape();
        std::int64_t gradients = 0;
        for (const GradientOf& made : tape.gradients)
            if (made.operand != no_operand)
                gradients += graph.tensors[tape.operands[made.operand].tensor].bytes.value;
        json item = {{"ops", graph.ops.size()},
                     {"whole_peak_bytes", planner->whole_peak().value},
                     {"whole_held_bytes", (planner->whole_peak(2) - planner->whole_peak()).value},
                     {"resident_bytes", planner->residents().value},
                     {"gradient_bytes", gradients},
                     {"kept_by_loss_bytes", planner->kept_by_loss().value},
                     {"unused_outputs", tape.unused_outputs},
                     {"busy", planner->busy()}};
        const Schedule* found = schedule();
        if (const PlanAnswer* answer = planner->answer()) {
            item["step_budget_bytes"] = answer->budget.value;
            item["beside_bytes"] = answer->beside.value;
            item["others_bytes"] = answer->others.value;
            item["seconds"] = answer->seconds;
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
            item["solver"] = found->solver;
            item["peak_bytes"] = found->peak.value;
            item["budget_bytes"] = found->budget.value;
            item["overhead"] = found->overhead;
            item["host_peak_bytes"] = found->host_peak ? json(found->host_peak->value) : json(0);
            item["status"] = found->status;
            item["bound"] = found->bound ? json(found->bound->overhead) : json(nullptr);
            item["gap"] = found->bound ? json(found->bound->gap) : json(nullptr);
        }
        return item.dump();
    }

    std::string last() const {
        if (!step) return "{}";
        return json{{"peak_bytes", step->last_peak ? json(step->last_peak->value) : json()},
                    {"arena_bytes", step->memory.arena_bytes},
                    {"system_allocations", step->memory.system_allocations},
                    {"originals", step->originals},
                    {"why_original", step->why_original},
                    {"open", step->open()}}
            .dump();
    }

    std::string graph_text() {
        CapturedStep step{.graph = planner->graph(), .tape = planner->tape()};
        if (Result<void> made = make_replayable(step, step.graph.name); !made)
            TORCH_CHECK(false, "rematlas: ", made.error().message);
        return rematlas::graph_text(step.graph);
    }

    void save(const std::string& path) {
        const Schedule* found = schedule();
        TORCH_CHECK(found, "rematlas: there is no schedule yet");
        const std::string text = graph_text();
        Schedule schedule = *found;
        schedule.graph_sha256 = sha256(text);
        const Result<void> written = write_plan(text, schedule, path);
        TORCH_CHECK(written, "rematlas: ", written.error().message);
    }

    std::shared_ptr<DeviceRuntime> device;
    std::shared_ptr<Planner> planner;
    std::vector<int> passed_inputs;
    std::optional<Schedule> loaded;
    std::shared_ptr<PlannedStep> step;
};

struct TorchTrialRun : torch::CustomClassHolder {
    TorchTrialRun(const c10::intrusive_ptr<TorchPlan>& plan, const std::vector<at::Tensor>& tensors,
                  const std::vector<at::Tensor>& inputs)
        : trial(std::make_shared<TrialRun>(plan->step, tensors, inputs)) {}
    std::shared_ptr<TrialRun> trial;
};

std::vector<at::Tensor> shapes_like(const std::vector<at::Tensor>& tensors, std::int64_t largest_kept) {
    const at::NoGradGuard no_grad;
    std::map<const c10::StorageImpl*, c10::Storage> twins;
    std::vector<at::Tensor> result;
    for (const at::Tensor& tensor : tensors) {
        c10::Storage& twin = twins[tensor.storage().unsafeGetStorageImpl()];
        const auto bytes = static_cast<std::int64_t>(tensor.storage().nbytes());
        if (!twin) {
            // All of the storage: the tensor may be a view of a part of it.
            at::Tensor whole = shape_tensor({bytes}, c10::ScalarType::Byte, tensor.device());
            if (bytes <= largest_kept) {
                whole = at::empty({0}, tensor.options().dtype(c10::ScalarType::Byte));
                whole.set_(tensor.storage(), 0, {bytes}, {1});
                whole = whole.clone();
            }
            twin = whole.storage();
        }
        result.push_back(shape_on(twin, tensor));
    }
    return result;
}

const bool counting = [] {
    CountingAllocator::install(CountingAllocator::Heap::callers);
    return true;
}();

std::vector<std::int64_t> as_int64(const std::vector<int>& numbers) {
    return {numbers.begin(), numbers.end()};
}

/// Returns when autograd's thread of the device has dropped all that earlier backwards left it. A backward
/// returns before its thread frees the gradients it handed out, and for tensors that Python knows that takes
/// Python's lock: libtorch ends the process when Python is going down by then. The backward here comes after
/// the others in the thread's queue, and Python knows none of its tensors.
void wait_for_autograd(const std::string& device) {
    const at::AutoGradMode with_gradients(true);
    const at::Tensor leaf = at::zeros({}, at::TensorOptions(c10::Device(device))).requires_grad_();
    leaf.mul(1).backward();
}

TORCH_LIBRARY(rematlas, library) {
    using Recording = c10::intrusive_ptr<TorchRecording>;
    using Planned = c10::intrusive_ptr<TorchPlan>;
    using Trial = c10::intrusive_ptr<TorchTrialRun>;
    using Tensors = std::vector<at::Tensor>;
    library.class_<TorchRecording>("Recording")
        .def(torch::init<const std::vector<std::string>&, const Tensors&, std::int64_t, const Tensors&,
                         const std::string&, const std::string&>())
        .def("begin", [](const Recording& self) { return self->step->begin(); })
        .def("enter", [](const Recording& self, const std::string& path) { self->step->places.enter(path); })
        .def("leave", [](const Recording& self) { self->step->places.leave(); })
        .def("end", [](const Recording& self, const Tensors& outputs) { self->step->end(outputs); })
        .def("run_backward",
             [](const Recording& self, const c10::List<bool>& used) {
                 self->step->run_backward({used.begin(), used.end()});
             })
        .def("abandon", [](const Recording& self) { self->step->abandon(); })
        .def("refuse", [](const Recording& self, const std::string& why) { self->step->refuse(why); })
        .def("uncut", [](const Recording& self, const std::string& why) { self->step->uncut(why); })
        .def("sums_gradients", [](const Recording& self) { return self->step->sums_gradients(); })
        .def("depends_on_data", [](const Recording& self,
                                   const at::Tensor& tensor) { return self->step->depends_on_data(tensor); })
        .def("line", [](const Recording& self) { return self->step->places.line(); })
        .def("state",
             [](const Recording& self) -> std::string {
                 switch (self->step->state()) {
                     case StepRecording::State::open:
                         return "open";
                     case StepRecording::State::recorded:
                         return "recorded";
                     case StepRecording::State::dropped:
                         return "dropped";
                     case StepRecording::State::disturbed:
                         return "disturbed";
                     default:
                         return "refused";
                 }
             })
        .def("refusal", [](const Recording& self) { return self->step->refusal().value_or(""); })
        .def("other_thread", [](const Recording& self) { return self->step->other_thread(); })
        .def("out_of_memory", [](const Recording& self) { return self->step->out_of_memory(); })
        .def("survivors", [](const Recording& self) { return self->step->survivors(); })
        .def("beside", [](const Recording& self) { return self->step->beside(); })
        .def("held", [](const Recording& self) { return self->step->held(); })
        .def("difference", [](const Recording& self, const Recording& other) {
            return difference(self->step->recording(), other->step->recording()).value_or("");
        });
    library.class_<TorchPlan>("Plan")
        .def(torch::init<const Recording&, const Recording&, const std::string&>())
        .def("start",
             [](const Planned& self, const std::string& budget, const std::string& solver,
                const std::string& options, double seconds, std::int64_t frames, std::int64_t beside,
                const std::string& copies, bool in_arena) {
                 SolveRequest request{.solver = solver,
                                      .budget = or_throw(parse_budget(budget)),
                                      .copies = copies_from(copies)};
                 if (!options.empty()) request.options = std::make_shared<const json>(json::parse(options));
                 request.limits.time = std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
                 self->planner->start(std::move(request), static_cast<int>(frames), Bytes(beside), in_arena);
             })
        .def("busy", [](const Planned& self) { return self->planner->busy(); })
        .def("wait", [](const Planned& self) { self->planner->wait(); })
        .def("answer", [](const Planned& self) { return self->answer(); })
        .def("bind", [](const Planned& self, const std::vector<std::string>& names, const Tensors& tensors,
                        std::int64_t parameters,
                        const std::string& owner) { self->bind(names, tensors, parameters, owner); })
        .def("forward", [](const Planned& self, const Tensors& tensors, const Tensors& inputs, bool arena,
                           bool measured) { return self->forward(tensors, inputs, arena, measured); })
        .def("with_optimizer",
             [](const Planned& self, const std::string& groups, const std::string& end) {
                 return c10::make_intrusive<TorchPlan>(*self, groups, end);
             })
        .def("bind_with_states",
             [](const Planned& self, const std::vector<std::string>& names, const Tensors& tensors,
                std::int64_t parameters, const std::string& owner,
                const Tensors& states) { self->bind(names, tensors, parameters, owner, states); })
        .def("rebind_states",
             [](const Planned& self, const Tensors& states) {
                 const Result<void> bound = self->step->executor().rebind_states(states);
                 TORCH_CHECK(bound, "rematlas: ", bound.error().message);
             })
        .def("change_numbers",
             [](const Planned& self, const std::string& groups) {
                 const Result<void> changed =
                     change_numbers(self->step->executor().change_values(), groups_from(groups));
                 TORCH_CHECK(changed, "rematlas: ", changed.error().message);
             })
        .def("set_sums_gradients", [](const Planned& self, bool sums) { self->step->sums_gradients = sums; })
        .def("state_names",
             [](const Planned& self) {
                 std::vector<std::string> names;
                 for (const StateTensor& state : self->planner->tape().states) names.push_back(state.name);
                 return names;
             })
        .def("gradient_names",
             [](const Planned& self) {
                 std::vector<std::string> names;
                 for (const GradientOf& gradient : self->planner->tape().gradients)
                     names.push_back(gradient.parameter);
                 return names;
             })
        .def("gradients_are_as_handed_out",
             [](const Planned& self, const c10::List<std::optional<at::Tensor>>& gradients) {
                 std::vector<std::optional<at::Tensor>> asked(gradients.begin(), gradients.end());
                 return self->step && self->step->are_as_handed_out(asked);
             })
        .def("give_open_forwards_up",
             [](const Planned& self) {
                 if (self->step) self->step->give_open_forwards_up();
             })
        .def("moves_buffers_late",
             [](const Planned& self) { return self->step && self->step->executor().moves_buffers_late(); })
        .def("passed_inputs", [](const Planned& self) { return as_int64(self->passed_inputs); })
        .def("pack",
             [](const Planned& self, const std::string& packing) { self->planner->note_packing(packing); })
        .def("packing", [](const Planned& self) { return self->planner->tape().packing; })
        .def("names",
             [](const Planned& self) {
                 std::vector<std::string> names;
                 for (const Binding& binding : self->planner->tape().bindings) names.push_back(binding.name);
                 return names;
             })
        .def("last", [](const Planned& self) { return self->last(); })
        .def("open",
             [](const Planned& self) {
                 return self->step ? static_cast<std::int64_t>(self->step->open()) : std::int64_t{0};
             })
        .def("graph_text", [](const Planned& self) { return self->graph_text(); })
        .def("save", [](const Planned& self, const std::string& path) { self->save(path); });
    library.class_<TorchTrialRun>("Comparison")
        .def(torch::init<const Planned&, const Tensors&, const Tensors&>())
        .def("begin", [](const Trial& self) { return self->trial->begin(); })
        .def("end", [](const Trial& self, const Tensors& outputs) { self->trial->end(outputs); })
        .def("abandon", [](const Trial& self) { self->trial->abandon(); })
        .def("uncut", [](const Trial& self, const std::string& why) { self->trial->uncut(why); })
        .def("held", [](const Trial& self) { return self->trial->held(); })
        .def("verdict",
             [](const Trial& self) -> std::string {
                 switch (self->trial->verdict()) {
                     case TrialRun::Verdict::open:
                         return "open";
                     case TrialRun::Verdict::same:
                         return "same";
                     case TrialRun::Verdict::different:
                         return "different";
                     case TrialRun::Verdict::dropped:
                         return "dropped";
                     case TrialRun::Verdict::disturbed:
                         return "disturbed";
                     default:
                         return "other course";
                     case TrialRun::Verdict::no_room:
                         return "no room";
                 }
             })
        .def("why", [](const Trial& self) { return self->trial->why(); })
        .def("other_thread", [](const Trial& self) { return self->trial->other_thread(); })
        .def("measured_peak", [](const Trial& self) { return self->trial->measured_peak().value; });

    library.def("load_plan(str path, str device) -> __torch__.torch.classes.rematlas.Plan",
                [](const std::string& path, const std::string& device) {
                    return c10::make_intrusive<TorchPlan>(path, device);
                });
    library.def(
        "plan_from_shapes(__torch__.torch.classes.rematlas.Recording recording, str name, bool timed, "
        "str[] names, Tensor[] tensors) -> __torch__.torch.classes.rematlas.Plan",
        [](const Recording& recording, const std::string& name, bool timed,
           const std::vector<std::string>& names, const Tensors& tensors) {
            return c10::make_intrusive<TorchPlan>(recording, name, timed, paired(names, tensors, 0));
        });
    // Shape tensors that share storages as these do. Those of at most `largest_kept` bytes of storage are
    // copied.
    library.def("shapes_like(Tensor[] tensors, int largest_kept) -> Tensor[]", &shapes_like);
    // Addresses of C functions; 0: nobody. `asked` (frame, what), what 0: run the original's forward of that frame with
    // gradients and call `original_outputs`; 1: its backward has updated the parameters, or added to the sums of gradients; 2: that
    // backward is over; 3: call `tell_of_hooks` if some of its parameters have hooks. `forget` (frame, null): the frame is gone.
    // `raised`: the address of a list, for exceptions that functions of Python below these leave there; they are thrown by
    // `rematlas::raise_kept() -> ()`, which Python implements.
    library.def("set_callbacks(int asked, int forget, int raised) -> ()",
                [](std::int64_t asked, std::int64_t forget, std::int64_t raised) {
                    ask_callback = reinterpret_cast<AskCallback>(asked);
                    forget_callback = reinterpret_cast<ForgetCallback>(forget);
                    keep_python_errors_in(raised);
                });
    library.def("tell_of_hooks(int frame) -> ()", [](std::int64_t frame) {
        const std::lock_guard lock(handed_mutex);
        handed_hooks.insert(frame);
    });
    library.def("original_inputs(int frame) -> Tensor[]", [](std::int64_t frame) {
        const std::lock_guard lock(handed_mutex);
        auto inputs = handed_inputs.extract(frame);
        return inputs ? std::move(inputs.mapped()) : Tensors();
    });
    library.def("original_uses(int frame) -> bool[]", [](std::int64_t frame) {
        const std::lock_guard lock(handed_mutex);
        const auto uses = handed_uses.extract(frame);
        c10::List<bool> list;
        if (uses)
            for (const bool used : uses.mapped()) list.push_back(used);
        return list;
    });
    library.def("original_outputs(int frame, Tensor[] outputs) -> ()",
                [](std::int64_t frame, Tensors outputs) {
                    const std::lock_guard lock(handed_mutex);
                    handed_outputs[frame] = std::move(outputs);
                });
    library.def("beside(Tensor[] tensors, Tensor[] inputs, str device) -> int",
                [](const Tensors& tensors, const Tensors& inputs, const std::string& device) {
                    std::vector<NamedTensor> named;
                    for (const at::Tensor& tensor : tensors) named.push_back({"", tensor, true});
                    DeviceRuntime& runtime = *open_device_named(device);
                    runtime.prepare();
                    return memory_without_eviction(runtime).alive_bytes() -
                           counted_residents(named, inputs, runtime);
                });
    library.def("hands_out_larger_blocks(str device) -> bool", [](const std::string& device) {
        constexpr std::int64_t large = std::int64_t{2} << 20;
        const DeviceRuntime& runtime = *open_device_named(device);
        return runtime.most_footprint(large) > runtime.footprint(large);
    });
    // As ops that autocast to this type take it, from the cache of the region where it is there.
    library.def("cached_cast(Tensor tensor, ScalarType type) -> Tensor",
                [](const at::Tensor& tensor, c10::ScalarType type) {
                    return at::autocast::cached_cast(type, tensor, tensor.device().type());
                });
    library.def("wait_for_autograd(str device) -> ()", &wait_for_autograd);
    library.def("budget_bytes(str text) -> int?", [](const std::string& text) -> std::optional<std::int64_t> {
        const Budget budget = or_throw(parse_budget(text));
        if (budget.of != Budget::Of::nothing) return std::nullopt;
        return budget.bytes.value;
    });
    // One like each, of the device, whose memory is the host's; without a `fill` with its contents.
    library.def("host_tensors(Tensor[] like, str device, float? fill) -> Tensor[]",
                [](const Tensors& like, const std::string& device, std::optional<double> fill) {
                    return or_throw(host_tensors(like, fill, *open_device_named(device)));
                });
    library.def("check_copies(str text) -> ()", [](const std::string& text) { copies_from(text); });
    library.def("generate_config(str type) -> str",
                [](const std::string& type) { return or_throw(generate_config(type)); });
    library.def("check_config(str text) -> str", [](const std::string& text) {
        const Config config = or_throw(parse_config(text, "the configuration"));
        return json{{"solver", config.solver}, {"options", config.options ? *config.options : json::object()}}
            .dump();
    });
    library.def("counted_bytes() -> int", [] { return CountingAllocator::alive(); });
    library.def("counted_peak_bytes() -> int", [] { return CountingAllocator::watermark(); });
    library.def("reset_counted_peak() -> ()", [] { CountingAllocator::reset_watermark(); });
}

}  // namespace
}  // namespace rematlas
