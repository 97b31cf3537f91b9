"""Names that the examples of single headers of core use without defining them."""

from example_names.declarations import values

NAMES = {
    "core/addresses/request_plan.h": values("requests"),
    "core/bounds/chain_moments.h": values("values"),
    "core/bounds/first_order_lp.h": "extern struct Relaxation { MilpModel programme() const; } relaxation;",
    "core/bounds/rebuild_cut.h": "extern const int op, b, c;",
    "core/bounds/resident_traffic.h": values("copies"),
    "core/bounds/two_sided_moments.h": "extern const Device device;",
    "core/costs/host_profile.h": "extern const std::int64_t elements;",
    "core/costs/roofline.h": "extern const DeviceProfile profile;",
    "core/dtr/evict_online.h": "extern const Trace trace;",
    "core/dtr/online_eviction.h": (
        "extern EvictionHost& host; extern const Trace::Op op; extern const int tensor;"
        + values("outputs bytes")
    ),
    "core/graph/subproblem.h": values("whole rank forward_ops backward_ops") + "extern const int run;",
    "core/milp/milp_thread.h": "extern const MilpModel model;",
    "core/pins/pinned_step.h": values("pins runs_of_the_answer"),
    "core/planning/batch_family.h": values("graph_of_2 graph_of_4"),
    "core/planning/config.h": "extern const Budget budget;",
    "core/schedule/pin.h": "extern const Budget budget;",
    "core/planning/pinned_solver.h": values("pins"),
    "core/planning/run_steps.h": values("bytes_so_far"),
    "core/schedule/schedule_diff.h": "extern const Schedule a, b;",
    "core/snapshots/call_stacks.h": "extern CallStacks stacks;" + values("innermost"),
    "core/solvers/annealing/planned_copies.h": (
        "extern RunProfile profile; extern const int tensor; extern const CopyGraph graph;" + values("use")
    ),
    "core/solvers/annealing/repeats.h": "extern const int op;",
    "core/solvers/annealing/run_profile.h": (
        "extern const FlatGraph graph; extern const int op; extern const RunProfile::Node node, before;"
    ),
    "core/solvers/atlas/copy_race.h": (
        "extern const AnnealingOptions options; extern CopyIncumbent incumbent;"
        "extern const HostChoice choice;"
        "extern const annealing::CopyGraph graph; extern const annealing::CopyState state;"
    ),
    "core/solvers/atlas/host_choice.h": (
        "extern const annealing::CopyGraph graph; extern const std::int64_t base_time;"
    ),
    "core/solvers/hierarchical/level.h": values("whole blocks parent choice"),
    "core/solvers/hierarchical/option_cache.h": values("folder key times"),
    "core/solvers/offmate/away_programme.h": values("lives library"),
    "core/solvers/offmate/block_programme.h": "extern const hierarchical::Level level;"
    + values("blocks placed_runs limits library"),
    "core/solvers/offmate/copy_flows.h": "extern MilpModel milp;" + values("stages rates sum needs"),
    "core/solvers/offmate/copying_plan.h": values("options placed_runs"),
    "core/solvers/offmate/copying_steps.h": values("lives away"),
    "core/solvers/offmate/lifetimes.h": values("placed_runs may_leave"),
    "core/solvers/offmate/optimizer_ops.h": values("on_host"),
    "core/solvers/rotor/rotor.h": (
        "extern const Bytes largest_budget; extern const std::vector<Bytes> budgets;"
        "extern std::vector<Answer> answers;"
    ),
    "core/solvers/rotor/rotor_curve.h": values("name largest"),
    "core/solvers/rotor/rotor_table.h": "extern struct Chain { Anything stages; } chain;"
    + values("most_bytes"),
    "core/solvers/selective/checkpointed_step.h": values("regions saved"),
    "core/solvers/staged/staged_model.h": (
        values("best_time known_peak") + "extern const MilpAnswer answer; extern const std::int64_t time;"
    ),
    "core/solving/programme.h": values("start") + "extern const std::shared_ptr<const MilpModel> model;",
}
