// rematlas solve, rematlas sweep
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "app/cli/command.h"
#include "app/cli/copy_flags.h"
#include "app/cli/infeasible_answer.h"
#include "app/cli/interrupt.h"
#include "app/cli/reading.h"
#include "core/base/files.h"
#include "core/base/sizes.h"
#include "core/checking/check.h"
#include "core/graph/graph_file.h"
#include "core/pins/pinned_ops.h"
#include "core/planning/config.h"
#include "core/planning/least_budget.h"
#include "core/planning/registry.h"
#include "core/planning/request.h"
#include "core/planning/sweep.h"
#include "core/schedule/schedule_file.h"
#include "viz/paint/draw.h"

namespace rematlas {
namespace {

using nlohmann::json;

struct SolveFlags {
    std::string graph, budget, milp, time_limit = "60s", bound_time, gap, config, out;
    std::optional<std::string> solver;
    std::vector<std::string> pins;
    int threads = 1;
    std::uint64_t seed = 1;
    double max_overhead = 0;  ///< 0: not given
    bool arena = false;
    CopyFlags copies;
};

struct SweepFlags {
    std::string graph, solvers = "atlas", budget, spacing = "curve", time_limit = "60s", out, plot;
    std::vector<std::string> pins;
    int count = 16, threads = 1;
    bool arena = false;
    CopyFlags copies;
};

/// Parses the values of `--pin`, which may be given several times. Prints a note for each pin that has no
/// effect.
Result<Pins> pins_flag(const Graph& graph, const std::vector<std::string>& texts) {
    Pins pins;
    for (const std::string& text : texts) {
        Result<Pin> pin = parse_pin(text);
        if (!pin) return Error{"--pin: " + pin.error().message};
        pins.push_back(pin.take());
    }
    const auto fits = pinned_ops(graph, pins);
    if (!fits) return Error{"--pin: " + fits.error().message};
    for (const IdlePin& idle : fits->idle) std::fprintf(stderr, "rematlas: note: %s\n", idle.why.c_str());
    return pins;
}

std::string seconds_text(double seconds) {
    return format_duration(Nanoseconds(static_cast<std::int64_t>(seconds * 1e9)));
}

json json_of_class(const std::optional<Bound>& bound) {
    return bound && bound->over ? json(to_string(*bound->over)) : json(nullptr);
}

json schedule_json(const Graph& graph, const Schedule& schedule) {
    const CheckReport copies = check(graph, schedule);
    return {{"status", schedule.status},
            {"solver", schedule.solver},
            {"overhead", schedule.overhead},
            {"time_ns", schedule.time.value},
            {"peak_bytes", schedule.peak.value},
            {"arena_bytes", schedule.addresses ? json(schedule.addresses->arena.value) : json(nullptr)},
            {"budget_bytes", schedule.budget.value},
            {"bound", schedule.bound ? json(schedule.bound->overhead) : json(nullptr)},
            {"bound_class", json_of_class(schedule.bound)},
            {"gap", schedule.bound ? json(schedule.bound->gap) : json(nullptr)},
            {"bound_seconds", schedule.bound ? json(schedule.bound->seconds) : json(nullptr)},
            {"nodes", schedule.bound && schedule.bound->nodes ? json(*schedule.bound->nodes) : json(nullptr)},
            {"pins", pins_json(schedule.pins)},
            {"steps", schedule.steps.size()},
            {"to_host_bytes", copies.to_host.bytes.value},
            {"to_device_bytes", copies.to_device.bytes.value},
            {"host_runs", copies.host_runs},
            {"host_peak_bytes", copies.host_peak.value},
            {"host_budget_bytes", schedule.host_budget ? json(schedule.host_budget->value) : json(nullptr)},
            {"solve_seconds", schedule.solve_seconds}};
}

void print_copies(const Graph& graph, const Schedule& schedule) {
    if (!schedule.host_peak) return;
    const CheckReport copies = check(graph, schedule);
    std::printf("%-10s %s to the host, %s back; at most %s lie there\n", "copies",
                format_bytes(copies.to_host.bytes).c_str(), format_bytes(copies.to_device.bytes).c_str(),
                format_bytes(copies.host_peak).c_str());
    if (copies.host_runs > 0) std::printf("%-10s %zu ops\n", "on host", copies.host_runs);
}

void print_bound(const Schedule& schedule) {
    const std::optional<Bound>& bound = schedule.bound;
    if (!bound) {
        std::printf("%-10s none is known\n", "bound");
        return;
    }
    std::string over(bound->over ? to_string(*bound->over) : "a class that is not named");
    if (!schedule.pins.empty()) over += ", under the pins";
    std::printf("%-10s %.4f over %s; gap %.2f %%", "bound", bound->overhead, over.c_str(), bound->gap * 100);
    if (bound->seconds > 0) std::printf("; took %s", seconds_text(bound->seconds).c_str());
    if (bound->nodes) std::printf(", %lld nodes", static_cast<long long>(*bound->nodes));
    std::printf("\n");
}

void print_schedule(const Graph& graph, const Schedule& schedule) {
    std::printf("%-10s %s by %s in %s\n", "status", schedule.status.c_str(), schedule.solver.c_str(),
                seconds_text(schedule.solve_seconds).c_str());
    std::printf("%-10s %.4f  (%+.2f %% time, %s)\n", "overhead", schedule.overhead,
                (schedule.overhead - 1) * 100, format_duration(schedule.time).c_str());
    std::printf("%-10s %s of a budget of %s\n", "peak", format_bytes(schedule.peak).c_str(),
                format_bytes(schedule.budget).c_str());
    if (schedule.addresses)
        std::printf("%-10s %s at planned addresses; the budget bounds it\n", "arena",
                    format_bytes(schedule.addresses->arena).c_str());
    print_copies(graph, schedule);
    for (const Pin& pin : schedule.pins) std::printf("%-10s %s\n", "pin", to_string(pin).c_str());
    print_bound(schedule);
}

Progress solve_progress(const OutputFlags& flags) {
    if (!flags.shows_progress()) return {};
    return [](const ProgressReport& best) {
        std::fprintf(stderr, "\r\033[K%3.0f %%  overhead %.4f  peak %s", best.fraction_done * 100,
                     best.overhead, format_bytes(best.peak).c_str());
        std::fflush(stderr);
    };
}

/// Sets the solver and its options from the flags and the configuration.
Result<void> choose_solver(const SolveFlags& flags, SolveRequest& request) {
    if (flags.solver) request.solver = *flags.solver;
    if (!flags.config.empty()) {
        const Result<Config> config = read_config(flags.config);
        if (!config) return config.error();
        if (flags.solver && request.solver != config->solver)
            return Error{"--solver: is " + request.solver + ", but " + flags.config + " is for " +
                         config->solver};
        request.solver = config->solver;
        request.options = config->options;
    }
    if (!flags.milp.empty()) {
        if (const Result<void> set = set_milp(request, flags.milp); !set)
            return Error{"--milp: " + set.error().message};
    }
    if (!flags.gap.empty()) {
        const Result<double> gap = gap_flag(flags.gap);
        if (!gap) return gap.error();
        set_gap(request, *gap);
    }
    if (const auto known = make_solver(request.solver, request.options.get()); !known)
        return Error{"--solver: " + known.error().message};
    return {};
}

Result<SolveRequest> request_from(const SolveFlags& flags, const StepBytes& step) {
    SolveRequest request{.arena = flags.arena,
                         .limits = {.seed = flags.seed, .threads = flags.threads, .cache = cache_folder()}};
    if ((flags.max_overhead > 0) == !flags.budget.empty())
        return Error{"--budget or --max-overhead is needed, and not both"};
    if (flags.max_overhead > 0 && flags.arena)
        return Error{"--arena: bounds the arena by a budget, which --max-overhead does not have"};
    if (!flags.budget.empty()) {
        const Result<Bytes> budget = budget_flag(flags.budget, step);
        if (!budget) return budget.error();
        request.budget = *budget;
    }
    const Result<Nanoseconds> time = duration_flag("--time-limit", flags.time_limit);
    if (!time) return time.error();
    request.limits.time = std::chrono::nanoseconds(time->value);
    if (!flags.bound_time.empty()) {
        const Result<Nanoseconds> bound_time = duration_flag("--bound-time", flags.bound_time);
        if (!bound_time) return bound_time.error();
        request.limits.bound_time = std::chrono::nanoseconds(bound_time->value);
    }
    if (const Result<void> chosen = choose_solver(flags, request); !chosen) return chosen.error();
    return request;
}

/// Writes the schedule and prints the answer.
Result<Exit> tell(const SolveFlags& flags, const OutputFlags& output, const Graph& graph,
                  const Schedule& schedule, std::optional<Bytes> least_proven) {
    if (!flags.out.empty()) {
        if (const Result<void> written = write_schedule(schedule, flags.out); !written)
            return written.error();
    }
    if (output.json) {
        json told = schedule_json(graph, schedule);
        if (least_proven) told["least_proven_bytes"] = least_proven->value;
        print_json(told);
        return Exit::success;
    }
    print_schedule(graph, schedule);
    if (least_proven)
        std::printf("%-10s no schedule of at most %.4g of the time needs less than %s\n", "least",
                    flags.max_overhead, format_bytes(*least_proven).c_str());
    return Exit::success;
}

Result<Exit> solve_command(const SolveFlags& flags, const OutputFlags& output) {
    const Result<Graph> graph = read_graph(flags.graph);
    if (!graph) return graph.error();
    const FlatGraph flat = flatten(*graph);
    Result<SolveRequest> request = request_from(flags, step_bytes(flat));
    if (!request) return request.error();
    if (const Result<void> other = check_is_no_input(flags.out, {flags.graph}); !other) return other.error();
    if (const Result<void> can = flags.out.empty() ? Result<void>() : check_can_write(flags.out); !can)
        return can.error();
    const Result<Pins> pins = pins_flag(*graph, flags.pins);
    if (!pins) return pins.error();
    request->pins = *pins;
    const Result<Copies> copies = copies_from(flags.copies, *graph, request->solver);
    if (!copies) return copies.error();
    request->copies = *copies;
    request->limits.stop = catch_interrupt();
    if (flags.max_overhead > 0) {
        const Result<LeastBudget> least =
            least_budget({*graph, flat}, *request, flags.max_overhead, solve_progress(output));
        if (output.shows_progress()) std::fprintf(stderr, "\r\033[K");
        if (!least) return least.error();
        return tell(flags, output, *graph, least->schedule, least->proven);
    }
    const Result<Outcome> outcome = solve(Problem{*graph, flat}, *request, solve_progress(output));
    if (output.shows_progress()) std::fprintf(stderr, "\r\033[K");
    if (!outcome) return outcome.error();
    if (outcome->infeasible()) {
        const InfeasibleAnswer answer(*graph, flat, request->solver, request->copies.what, *outcome);
        output.json ? print_json(answer.as_json()) : answer.print();
        return Exit::negative;
    }
    return tell(flags, output, *graph, *outcome->schedule(), std::nullopt);
}

Result<SweepOptions> sweep_options(const SweepFlags& flags, const Graph& graph) {
    const StepBytes step = step_bytes(flatten(graph));
    const Result<Nanoseconds> time = duration_flag("--time-limit", flags.time_limit);
    if (!time) return time.error();
    SweepOptions options{.solvers = parts_of(flags.solvers),
                         .budgets = {},
                         .count = flags.count,
                         .spacing = flags.spacing == "even" ? Spacing::even : Spacing::curve,
                         .arena = flags.arena,
                         .limits = {},
                         .pins = {}};
    Result<Pins> pins = pins_flag(graph, flags.pins);
    if (!pins) return pins.error();
    options.pins = pins.take();
    options.limits = {.time = std::chrono::nanoseconds(time->value),
                      .stop = catch_interrupt(),
                      .seed = 1,
                      .threads = flags.threads,
                      .cache = cache_folder()};
    for (const std::string& solver : options.solvers) {
        if (std::count(options.solvers.begin(), options.solvers.end(), solver) > 1)
            return Error{"--solver: " + solver + " stands there twice"};
        if (const auto known = make_solver(solver); !known)
            return Error{"--solver: " + known.error().message};
    }
    const Result<std::vector<Copies>> copies = all_copies_from(flags.copies);
    if (!copies) return copies.error();
    options.copies = *copies;
    if (flags.budget.empty()) return options;
    for (const std::string& text : parts_of(flags.budget)) {
        const Result<Bytes> budget = budget_flag(text, step);
        if (!budget) return budget.error();
        options.budgets.push_back(*budget);
    }
    return options;
}

void print_sweep(const Sweep& sweep) {
    const bool copies = std::any_of(sweep.curves.begin(), sweep.curves.end(), [](const SweepCurve& curve) {
        return curve.copies.what != Offload::none;
    });
    const auto copied = [&](const std::string& name) {
        if (copies) std::printf(" %-11s", name.c_str());
    };
    std::printf("%-14s", "solver");
    copied("offload");
    std::printf(" %12s %12s %10s %10s  %s\n", "budget", "peak", "overhead", "bound", "status");
    for (const SweepCurve& curve : sweep.curves) {
        for (const SweepPoint& point : curve.points) {
            const bool found = point.status != "infeasible";
            char overhead[32] = "-", bound[32] = "-";
            if (found) std::snprintf(overhead, sizeof overhead, "%.4f", point.overhead);
            if (point.bound) std::snprintf(bound, sizeof bound, "%.4f", point.bound->overhead);
            std::printf("%-14s", curve.solver.c_str());
            copied(std::string(to_string(curve.copies.what)));
            std::printf(" %12s %12s %10s %10s  %s\n", format_bytes(point.budget).c_str(),
                        found ? format_bytes(point.peak).c_str() : "-", overhead, bound,
                        point.status.c_str());
        }
    }
}

Result<Exit> sweep_command(const SweepFlags& flags, const OutputFlags& output) {
    const Result<Graph> graph = read_graph(flags.graph);
    if (!graph) return graph.error();
    const Result<SweepOptions> options = sweep_options(flags, *graph);
    if (!options) return options.error();
    for (const std::string& path : {flags.out, flags.plot}) {
        if (const Result<void> other = check_is_no_input(path, {flags.graph}); !other) return other.error();
        if (const Result<void> can = path.empty() ? Result<void>() : check_can_write(path); !can)
            return can.error();
    }
    if (const Result<void> known = flags.plot.empty() ? Result<void>() : check_picture_path(flags.plot);
        !known)
        return known.error();
    const bool shows = output.shows_progress();
    const Result<Sweep> sweep =
        run_sweep(*graph, *options, [shows](const SweepCurve& curve, const SweepPoint& point) {
            if (shows)
                std::fprintf(stderr, "\r\033[K%s%s at %s: %s", curve.solver.c_str(),
                             curve.copies.what == Offload::none ? "" : " with copies",
                             format_bytes(point.budget).c_str(), point.status.c_str());
        });
    if (shows) std::fprintf(stderr, "\r\033[K");
    if (!sweep) return sweep.error();
    if (!flags.out.empty()) {
        if (const Result<void> written = write_sweep(*sweep, flags.out); !written) return written.error();
    }
    if (!flags.plot.empty()) {
        if (const Result<void> drawn = draw_sweep_file(*sweep, flags.plot, &*graph); !drawn)
            return drawn.error();
    }
    if (output.json)
        print_json(json::parse(sweep_text(*sweep)));
    else
        print_sweep(*sweep);
    return Exit::success;
}

void add_pin_option(CLI::App& app, std::vector<std::string>& pins) {
    app.add_option("--pin", pins,
                   "what schedules must obey: a module, tensor or op (#12) and =keep or =recompute, like "
                   "'blocks.*.attn=recompute'; may be given several times")
        ->allow_extra_args(false);
}

}  // namespace

void add_solve_commands(const Commands& commands) {
    static OutputFlags output;
    static SolveFlags flags;
    CLI::App* app = commands.add("solve", "find a schedule that keeps a budget, and check it",
                                 "rematlas solve resnet50.graph.json --budget 60% -o resnet50.schedule.json",
                                 output, [] { return solve_command(flags, output); });
    const std::string names = solver_names();
    app->add_option("graph", flags.graph, "a .graph.json file")->required();
    app->add_option("--budget", flags.budget,
                    "bytes (2GiB, 512MiB), a share of the peak without recomputation (60%) or of what is not "
                    "resident in it ('60% of activations')");
    app->add_option(
           "--max-overhead", flags.max_overhead,
           "in place of a budget: find the least memory at which the step takes at most this multiple of its "
           "time, 1.1 = +10 % time")
        ->check(CLI::Range(1.0, 1e6));
    add_pin_option(*app, flags.pins);
    app->add_option("--solver", flags.solver, "one of " + names + "; default: atlas");
    app->add_option("--milp", flags.milp,
                    "library of the checkmate solvers: highs or glpk; default: the faster that is there")
        ->check(CLI::IsMember({"highs", "glpk"}));
    app->add_option("--time-limit", flags.time_limit, "wall clock for the search, such as 60s or 2m")
        ->capture_default_str();
    app->add_option("--bound-time", flags.bound_time,
                    "further wall clock for a better proven bound after the search, where there is a gap");
    app->add_option("--gap", flags.gap,
                    "the gap to the proven bound at which the search ends by itself, 0.1% or 0.001; default: "
                    "0.1%, of checkmate 0.0001%");
    app->add_option("--threads", flags.threads, "threads of the search")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    app->add_option("--seed", flags.seed, "seed of the random choices")
        ->check(unsigned_number())
        ->capture_default_str();
    app->add_option("--config", flags.config, "a configuration file; it names the solver too");
    add_copy_options(*app, flags.copies);
    app->add_flag("--arena", flags.arena,
                  "the budget bounds the arena: planned addresses, fragmentation included");
    app->add_option("-o,--output", flags.out, "write the schedule to this file");

    static SweepFlags sweep;
    CLI::App* sweep_app =
        commands.add("sweep", "find the time of a step at many budgets",
                     "rematlas sweep gpt12.graph.json --solver atlas,rotor --budgets 12 --plot tradeoff.svg",
                     output, [] { return sweep_command(sweep, output); });
    sweep_app->add_option("graph", sweep.graph, "a .graph.json file")->required();
    sweep_app->add_option("--solver", sweep.solvers, "one or several of " + names + ", with commas")
        ->capture_default_str();
    add_pin_option(*sweep_app, sweep.pins);
    CLI::Option* count =
        sweep_app
            ->add_option("--budgets", sweep.count,
                         "how many, from the smallest known to work to the peak without recomputation")
            ->check(CLI::Range(1, 10000))
            ->capture_default_str();
    sweep_app
        ->add_option("--spacing", sweep.spacing,
                     "where the budgets lie: curve puts them where the curve bends, even at equal distances")
        ->check(CLI::IsMember({"curve", "even"}))
        ->capture_default_str();
    sweep_app->add_option("--budget", sweep.budget, "these budgets instead of --budgets, with commas")
        ->excludes(count);
    sweep_app->add_option("--time-limit", sweep.time_limit, "wall clock for the whole sweep")
        ->capture_default_str();
    sweep_app->add_option("--threads", sweep.threads, "threads of the search")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    add_copy_options(*sweep_app, sweep.copies, true, true);
    sweep_app->add_flag("--arena", sweep.arena, "budgets bound the arena, as in solve");
    sweep_app->add_option("-o,--output", sweep.out, "write the sweep to this file");
    sweep_app->add_option("--plot", sweep.plot, "draw it to this .svg, .png or .pdf");
}

}  // namespace rematlas
