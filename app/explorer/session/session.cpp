#include "app/explorer/session/session.h"

#include <algorithm>

#include "app/explorer/words/wording.h"

namespace rematlas::explorer {
namespace {

/// Makes a sweep of the points that earlier sweeps found, with a curve for each solver and each kind of
/// copies. Plans with pins are left out, because other bounds hold for them.
Sweep swept_before(const LoadedGraph& graph, const std::vector<PlanRow>& plans) {
    Sweep sweep{graph.graph.name, graph.graph.sha256, {}};
    for (const PlanRow& plan : plans) {
        const Schedule& found = *plan.schedule;
        if (plan.origin != PlanRow::Origin::swept || !found.pins.empty()) continue;
        const Copies copies = copies_of(graph.graph, found);
        auto curve = std::find_if(sweep.curves.begin(), sweep.curves.end(), [&](const SweepCurve& c) {
            return c.solver == found.solver && c.copies == copies;
        });
        if (curve == sweep.curves.end())
            curve = sweep.curves.insert(curve, SweepCurve{found.solver, {}, copies});
        curve->points.push_back({.budget = found.budget,
                                 .status = found.status,
                                 .peak = found.peak,
                                 .overhead = found.overhead,
                                 .bound = found.bound,
                                 .steps = found.steps,
                                 .homes = found.homes,
                                 .host_peak = found.host_peak});
    }
    for (SweepCurve& curve : sweep.curves)
        std::stable_sort(curve.points.begin(), curve.points.end(),
                         [](const SweepPoint& a, const SweepPoint& b) { return a.budget < b.budget; });
    return sweep;
}

QString text_of_path(const std::filesystem::path& path) {
    return QString::fromStdString(path.string());
}

constexpr auto kTimeForAPoint = std::chrono::seconds(10);  // limit for a sweep's point without steps

/// Says whether the plan makes `left`, the result of a stopped solver, superfluous: whether the plan fits the
/// budget of `left`, is at least as fast, and has the same pins.
bool serves_as_well(const Schedule& plan, const Schedule& left) {
    return plan.peak <= left.budget && plan.overhead <= left.overhead && plan.pins == left.pins;
}

}  // namespace

Session::Session() {
    connect(&solver, &SolveController::solved, this, [this](SchedulePtr found) {
        const std::optional<Bound>& bound = found->schedule.bound;
        if (bound && bound->over) answers_->known().add_bound(asked_.question, *bound->over, bound->overhead);
        note_answered();
        set_schedule(std::move(found));
        show_known();  // the bound may be new although the plan is not
    });
    connect(&solver, &SolveController::infeasible, this,
            [this](const NoScheduleReport& report, qint64 smallest) {
                if (smallest > 0) answers_->known().add_peak(asked_.question, Bytes(smallest));
                answers_->known().add_needed(asked_.question, report.over, report.needed);
                note_answered();
                show_known();
            });
    plans.set_bound_of(
        [this](const PlanRow& row) { return answers_ ? answers_->bound_of(row) : std::nullopt; });
    connect(&plans, &PlanList::shown_changed, this, &Session::show_plan);
    connect(&plans, &PlanList::plan_added, this, [this](int row) {
        if (plans.plan(row).origin != PlanRow::Origin::all_kept) journal.note_added(plans.plan(row));
        answers_->known().add(*plans.plan(row).schedule);
        show_known();
    });
    connect(&plans, &PlanList::plan_renamed, this,
            [this](int row) { journal.note_renamed(plans.plan(row)); });
    connect(&plans, &PlanList::plan_removed, &journal, &PlanJournal::note_removed);
    connect(&plans, &PlanList::plan_removed, this, [this](const QString& key) {
        if (key == compared_) compare_with(0);
    });
    connect(&plans, &PlanList::plan_renamed, this, &Session::compare_shown);
    connect(&watch, &GraphWatch::changed, this, &Session::follow_file);
    connect(&sweep, &SweepController::point_found, this, &Session::keep_point);
    connect(&solver, &SolveController::left, this, &Session::keep_left);
    connect(&probe, &SmallestBudgetProbe::found, this, [this](qint64 bytes) {
        answers_->known().add_peak({}, Bytes(bytes));
        show_known();
    });
    connect(&pins, &PinList::changed, this, [this] {
        show_known();
        emit question_changed();
    });
    connect(&capture, &CaptureController::captured, this,
            [this](const QString& file) { is_remote(file) ? open_copied(file) : open({file}); });
}

void Session::open(const QStringList& paths) {
    for (const QString& path : paths) queue_.push_back({path, false});
    if (!opening_.running()) open_next();
}

void Session::open_copied(const QString& url) {
    queue_.push_back({url, true});
    if (!opening_.running()) open_next();
}

void Session::open_next() {
    if (queue_.empty()) {
        emit all_opened();
        return;
    }
    const auto [path, is_copied] = queue_.front();
    queue_.erase(queue_.begin());
    emit opening_started(path);
    opening_.start([this, path = path, is_copied = is_copied, current = graph_,
                    partition = partition_](std::stop_token stop) {
        Result<Opened> opened = is_copied ? open_copy(path, current) : open_anywhere(path, current, stop);
        if (opened && opened->graph == current) {
            opened->graph = nullptr;  // the graph is open already and stays
        } else if (opened && opened->graph->partition != partition) {
            opened->graph = in_blocks_of(*opened->graph, partition);
            if (opened->schedule) opened->schedule = on_graph(*opened->schedule, opened->graph);
        }
        if (!opened) {
            return BackgroundJob::Delivery([this, message = text(opened.error().message)] {
                emit failed(message);
                open_next();
            });
        }
        auto ready = std::make_shared<Opened>(opened.take());
        return BackgroundJob::Delivery([this, path, ready] {
            // Solvers run on the machine on which the graph is.
            if (ready->graph) solver.set_host(ready->host);
            take(std::move(*ready));
            emit this->opened(path);
            open_next();
        });
    });
}

void Session::take(Opened opened) {
    if (opened.graph)
        set_graph(opened.graph, opened.all_kept, keeps_plans_ ? std::move(opened.kept) : KeptPlans());
    // Perhaps the user has chosen another partition while the file was read.
    if (graph_ && graph_->partition != partition_) set_partition(partition_);
    if (opened.schedule) {
        if (opened.schedule->schedule.budget.value > 0) budget.set_budget(opened.schedule->schedule.budget);
        const int before = plans.shown(), compared = compared_plan();
        const auto is_of = [&](int row, PlanRow::Origin origin) {
            return row != PlanList::none && plans.plan(row).origin == origin;
        };
        const QString other = is_of(before, PlanRow::Origin::opened) ? plans.plan(before).key : QString();
        const bool chosen = compared != PlanList::none && !is_of(compared, PlanRow::Origin::all_kept);
        set_schedule(std::move(opened.schedule), PlanRow::Origin::opened);
        // A user who opens two schedules one after the other probably wants to compare them.
        const int row = plans.row_of(other);
        if (!chosen && !other.isEmpty() && row != PlanList::none && row != plans.shown()) compare_with(row);
    }
    if (opened.sweep) {
        sweep.set_sweep(std::move(*opened.sweep));
        add_sweep(sweep.sweep(), answers_->known());
        show_known();
    }
}

void Session::set_graph(GraphPtr graph, const SchedulePtr& all_kept, KeptPlans kept) {
    solver.cancel();
    probe.cancel();
    partitioning_.cancel();
    schedule_.reset();
    all_kept_.reset();
    graph_ = std::move(graph);
    answers_.reset();
    if (graph_) answers_.emplace(graph_);
    selection.clear();
    compare.clear();
    sweep.clear();
    journal.open({}, {});
    watch.watch({}, {});
    plans.clear();
    pins.set_graph(graph_);
    ladder.set_graph(graph_);
    if (graph_) {
        // Until the probe has answered, the slider begins at the proven lower bound.
        budget.set_range(graph_->least.bytes, step_bytes(graph_->flat));
        probe.start(graph_);
        all_kept_ = on_graph(*all_kept, graph_);
    }
    emit graph_changed();
    emit schedule_changed();
    if (!graph_) return;
    const int all = plans.add(all_kept_->schedule, PlanRow::Origin::all_kept);
    compare_with(all);
    for (const PlanRow& plan : kept.plans) answers_->known().add(*plan.schedule);
    sweep.set_sweep(swept_before(*graph_, kept.plans));
    plans.restore(std::move(kept.plans));
    watch.watch(text_of_path(graph_->path), graph_->graph.sha256);
    open_journal();
    const int shown = plans.row_of(kept.shown);
    if (shown != PlanList::none && plans.plan(shown).schedule->budget.value > 0 &&
        plans.plan(shown).origin != PlanRow::Origin::all_kept)
        budget.set_budget(plans.plan(shown).schedule->budget);
    plans.show(shown == PlanList::none ? all : shown);
    show_known();
}

void Session::open_journal() {
    if (keeps_plans_) journal.open(journal_path(graph_->path), graph_->graph.sha256);
}

/// Called when the graph's file has changed. The session file belongs to the graph in the graph's file. So
/// plans are written to the session file only while the graph's file contains the open graph.
void Session::follow_file() {
    if (!graph_) return;
    if (watch.state() != GraphWatch::State::same) return journal.open({}, {});
    open_journal();
    for (int row = 0; row < plans.rowCount(); ++row)
        if (plans.plan(row).origin != PlanRow::Origin::all_kept) journal.note_added(plans.plan(row));
}

void Session::go_by_runs(int direction) {
    if (!schedule_) return;
    const std::vector<Step>& steps = schedule_->schedule.steps;
    int step = selection.cursor();
    do {
        step += direction;
    } while (step >= 0 && step < static_cast<int>(steps.size()) &&
             !steps[static_cast<std::size_t>(step)].runs());
    if (step < 0 || step >= static_cast<int>(steps.size())) return;
    selection.select(Selected::of(steps[static_cast<std::size_t>(step)].op()));
    selection.set_cursor(step);
}

void Session::set_partition(std::optional<Partition> partition) {
    partition_ = partition;
    emit partition_changed();
    if (!graph_) return;
    if (graph_->partition == partition) return partitioning_.cancel();
    partitioning_.start([this, graph = graph_, partition](std::stop_token) {
        return BackgroundJob::Delivery(
            [this, other = in_blocks_of(*graph, partition)] { show_in_blocks(other); });
    });
}

void Session::show_in_blocks(GraphPtr graph) {
    graph_ = std::move(graph);
    if (selection.current().block.valid()) selection.clear();
    ladder.set_graph(graph_);
    all_kept_ = on_graph(*all_kept_, graph_);
    emit blocks_changed();
    if (schedule_) show_prepared(on_graph(*schedule_, graph_));
}

/// Updates everything that shows bounds or the smallest known budget.
void Session::show_known() {
    if (!graph_) return;
    const Question any = question({});
    const std::optional<Bytes> smallest = answers_->known().smallest(any);
    // If all known schedules have the full peak, the slider begins at the proven lower bound.
    const bool is_smaller = smallest && *smallest < graph_->full_peak;
    budget.set_smallest(is_smaller ? *smallest : graph_->least_with(any.copies.what));
    sweep.raise_bounds(graph_->graph, answers_->known());
    plans.note_bounds_changed();
    emit known_changed();
}

void Session::note_answered() {
    if (!solver.was_finished_early()) answers_->note_answered(asked_);
}

Question Session::question_of(const SolveRequest& request) const {
    const Result<Copies> copies = copies_for(graph_->graph, request.solver, request.copies);
    const Result<Bytes> bytes = bytes_of(request.budget, step_bytes(graph_->flat));
    return {bytes ? *bytes : Bytes(), copies && copies->what != Offload::none ? *copies : Copies{},
            pins.pins()};
}

Question Session::question(Bytes budget) const {
    return question_of(
        {.solver = solve_settings_.solver, .budget = budget, .copies = solve_settings_.copies});
}

bool Session::was_solved(const Question& question) const {
    return answers_ && answers_->was_answered({question, solve_settings_.solver, solve_settings_.time});
}

void Session::set_solve_settings(const SolveSettings& settings) {
    if (settings == solve_settings_) return;
    solve_settings_ = settings;
    show_known();
    emit question_changed();
}

void Session::close() {
    queue_.clear();
    opening_.cancel();
    set_graph(nullptr, nullptr, {});
}

void Session::set_schedule(SchedulePtr schedule, PlanRow::Origin origin) {
    if (schedule && schedule->graph != graph_) {
        // A schedule that was solved or prepared before the blocks changed is still of this graph.
        if (!graph_ || schedule->graph->graph.sha256 != graph_->graph.sha256) return;
        schedule = on_graph(*schedule, graph_);
    }
    if (!schedule || !schedule->ok()) {
        plans.show(PlanList::none);
        return show_prepared(std::move(schedule));
    }
    const int row = plans.add(schedule->schedule, origin, schedule->path);
    prepared_ = std::move(schedule);
    if (plans.shown() == row) show_plan();
    plans.show(row);
    prepared_.reset();
}

void Session::show_plan() {
    const int row = plans.shown();
    if (row == PlanList::none || !graph_) return show_prepared(nullptr);
    const PlanRow& plan = plans.plan(row);
    // If the list has only the step without recomputation, nothing is written: a user who only looks at a
    // graph should not get a file next to it.
    if (plans.rowCount() > 1) journal.note_shown(plan.key);
    // The next solve obeys the pins of the plan that is shown, until another plan is shown. Pins that the
    // user has set stay.
    pins.follow_plan(plan.name, plan.schedule->pins);
    if (plan.origin == PlanRow::Origin::all_kept) return show_prepared(all_kept_);
    show_prepared(prepared_ ? prepared_ : prepare_schedule(graph_, *plan.schedule, plan.file));
}

void Session::choose_plan(int row) {
    if (row == PlanList::none) return;
    const PlanRow& plan = plans.plan(row);
    const Bytes asked = plan.schedule->budget;
    if (plan.origin != PlanRow::Origin::all_kept && asked.value > 0) budget.set_budget(asked);
    plans.show(row);
    emit plan_chosen();
}

void Session::show_prepared(SchedulePtr schedule) {
    schedule_ = std::move(schedule);
    selection.set_cursor(-1);
    ladder.set_schedule(schedule_);
    emit schedule_changed();
    compare_shown();
}

void Session::compare_with(int row) {
    compared_ = row == PlanList::none ? QString() : plans.plan(row).key;
    emit compared_plan_changed();
    compare_shown();
}

void Session::compare_shown() {
    const int a = plans.shown(), b = compared_plan();
    if (a == PlanList::none || b == PlanList::none) return compare.clear();
    compare.compare_plans(schedule_, plans.plan(a).name, plans.plan(b).schedule, plans.plan(b).name);
}

void Session::keep_point(const SweptPoint& found) {
    if (!graph_) return;
    if (!found.point.steps.empty()) {
        Schedule plan = schedule_of(*graph_, found, sweep.sweep().pins);
        answers_->known().add(plan);
        plans.add(std::move(plan), PlanRow::Origin::swept);
    }
    show_known();  // a bound of this point, or for it, may be known even if the list had the plan before
}

/// Adds the best schedule of a stopped solver, unless a plan in the list serves as well (`serves_as_well`).
void Session::keep_left(const SchedulePtr& found) {
    if (!found->ok()) return;
    const Schedule& left = found->schedule;
    if (!graph_ || found->graph->graph.sha256 != graph_->graph.sha256)
        return keep_left_in_file(*found->graph, left);
    for (int row = 0; row < plans.rowCount(); ++row)
        if (serves_as_well(*plans.plan(row).schedule, left)) return;
    const int row = plans.add(left, PlanRow::Origin::best_so_far);
    emit best_kept(plans.plan(row).name);
}

/// Writes the best schedule of a solver into the session file of its graph, which is not open any more. Does
/// nothing if `serves_as_well` is true for a plan in that file.
void Session::keep_left_in_file(const LoadedGraph& graph, const Schedule& left) {
    const std::filesystem::path file = journal_path(graph.path);
    if (!keeps_plans_ || file.empty()) return;
    for (const PlanRow& plan : read_journal(file, graph.graph.sha256).plans)
        if (serves_as_well(*plan.schedule, left)) return;
    const PlanRow plan{.key = key_of(left),
                       .name = PlanList::tr("%1, best so far").arg(text(left.solver)),
                       .origin = PlanRow::Origin::best_so_far,
                       .schedule = std::make_shared<const Schedule>(left),
                       .file = {}};
    journal.note_added_to(file, graph.graph.sha256, plan);
    emit best_kept(tr("%1 of %2").arg(plan.name, text_of_path(graph.path.filename())));
}

void Session::show_point(const SweptPoint& found) {
    const SweepPoint& point = found.point;
    if (!graph_ || point.peak.value <= 0) return;
    budget.set_budget(point.budget);
    if (point.steps.empty()) {
        solve({.solver = found.solver,
               .budget = point.budget,
               .limits = {.time = kTimeForAPoint},
               .copies = found.copies});
        return;
    }
    plans.show(plans.add(schedule_of(*graph_, found, sweep.sweep().pins), PlanRow::Origin::swept));
}

Links Session::links() const {
    const Links& picked = solve_settings_.copies.links;
    if (picked.both_ways() || !graph_ || !graph_->graph.device) return picked;
    return graph_->graph.device->links;
}

void Session::solve_for(Bytes budget) {
    solve({.solver = solve_settings_.solver,
           .budget = budget,
           .limits = {.time = solve_settings_.time},
           .copies = solve_settings_.copies});
}

void Session::solve(SolveRequest request) {
    if (!graph_) return;
    request.pins = pins.pins();
    asked_ = {question_of(request), request.solver,
              std::chrono::duration_cast<std::chrono::milliseconds>(request.limits.time)};
    solver.solve(graph_, std::move(request));
}

bool Session::busy() const {
    return opening_.running() || partitioning_.running() || solver.running() || sweep.running() ||
           capture.running() || ladder.running() || batch.running();
}

void Session::cancel_all() {
    queue_.clear();
    opening_.cancel();
    if (partitioning_.running()) set_partition(graph_->partition);
    solver.cancel();
    sweep.stop();
    capture.cancel();
    ladder.cancel();
    batch.cancel();
    probe.cancel();
}

}  // namespace rematlas::explorer
