"""Names that the examples in the runtime's headers use without defining them."""

from example_names.declarations import values

BOUND_MODEL = "extern const BoundModel model;"
CAPTURED_STEP = "extern CapturedStep step;"
STEP_OF_SCHEDULE = "extern const std::size_t step;"
TRANSFERS = "extern const TransferPlan plan;"
EXECUTOR = "extern Executor executor;"

NAMES = {
    "runtime/allocator/arena.h": "extern const std::vector<Request> requests;",
    "runtime/allocator/step_memory.h": values("key"),
    "runtime/capture/added_ops.h": CAPTURED_STEP + values("like"),
    "runtime/capture/optimizer_ops.h": CAPTURED_STEP,
    "runtime/capture/record_step.h": "extern const CaptureOptions options;",
    "runtime/capture/recorder.h": (
        "extern Places& places; extern StepResult result; extern const std::vector<GradientMade> gradients;"
        + values("loss")
    ),
    "runtime/capture/update_recorder.h": CAPTURED_STEP + "extern const std::vector<UpdateTensor> tensors;",
    "runtime/eviction/eviction_trace.h": "extern const Evictor evictor; extern const nlohmann::json config;",
    "runtime/eviction/list_call.h": (
        "extern const c10::OperatorHandle op; extern const torch::jit::Stack stack;"
    ),
    "runtime/eviction/ticket.h": (
        "extern c10::StorageImpl* const storage; extern const std::shared_ptr<Departures> departures;"
        "extern c10::DataPtr other;"
    ),
    "runtime/replay/device_graph_step.h": "extern const std::vector<Step> steps;",
    "runtime/replay/executor.h": "extern std::vector<at::Tensor> output_gradients;",
    "runtime/replay/host_op_runner.h": BOUND_MODEL
    + STEP_OF_SCHEDULE
    + "extern const TransferPlan transfers; extern const TransferPlayer player;"
    "extern const OperandTable operands;",
    "runtime/replay/original_optimizer.h": "extern StepResult result;" + EXECUTOR,
    "runtime/replay/random_turns.h": "extern RandomTurns turns; extern DeviceRuntime& device;",
    "runtime/replay/replay_plan.h": BOUND_MODEL,
    "runtime/replay/replay_run.h": BOUND_MODEL
    + "extern const ReplayPlan plan; extern const ReplayOptions options;",
    "runtime/replay/step_transfers.h": BOUND_MODEL
    + STEP_OF_SCHEDULE
    + "extern const std::shared_ptr<const StepTransferPlan> plan; extern StepLinks links;"
    "extern OperandTable operands;",
    "runtime/shapes/shape_kernels.h": (
        "extern const c10::OperatorHandle op; extern const c10::DispatchKeySet keys;"
        "extern torch::jit::Stack* const stack;"
    ),
    "runtime/training/planned_step.h": (
        "extern const std::shared_ptr<const Graph> graph; extern const std::shared_ptr<DeviceRuntime> device;"
        "extern const std::vector<NamedTensor> named; extern const std::vector<at::Tensor> tensors;"
        "extern const std::string owner; extern const OriginalForward original;" + values("arena measured")
    ),
    "runtime/training/planner.h": "extern const StepRecording first, second;" + values("beside in_arena"),
    "runtime/training/scheduled_module.h": (
        "extern const std::vector<std::pair<at::Tensor, at::Tensor>> batches;"
        "struct Sgd { void step(); void zero_grad(); }; extern Sgd optimizer;"
    ),
    "runtime/training/trial_run.h": (
        "extern const std::shared_ptr<PlannedStep> step; extern const std::vector<at::Tensor> tensors;"
    ),
    "runtime/transfers/copy_queues.h": (
        "extern const std::unique_ptr<PinnedSlab> slab; extern const void* const tensor;"
    ),
    "runtime/transfers/link_clock.h": TRANSFERS + EXECUTOR,
    "runtime/transfers/transfer_plan.h": STEP_OF_SCHEDULE,
    "runtime/transfers/transfer_player.h": TRANSFERS + "extern void *const slab, *const data;",
    "runtime/verify/paired_run.h": "extern PairedSides& sides;" + values("predicted_peak"),
    "runtime/verify/plan_run.h": "extern const Plan plan;",
}
