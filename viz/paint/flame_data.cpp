#include "viz/paint/flame_data.h"

#include <algorithm>

#include "viz/block_view/block_view.h"
#include "viz/paint/step_spans.h"

namespace rematlas {

namespace {

/// Maximum number of parts of a module path that have separate rows. The rest of the path counts as one part.
constexpr int kMostParts = 24;

/// Makes the boxes of the runs, each box before the boxes inside it.
class BoxMaker {
  public:
    BoxMaker(const Graph& graph, FlameData& data) : graph_(graph), data_(data) {}

    void make_all() {
        const int count = data_.device_runs;
        for (int first = 0; first < count;) {
            int last = first;
            while (last + 1 < count && same_kind(first, last + 1)) ++last;
            make({.level = 0, .first = first, .last = last}, 0);
            first = last + 1;
        }
        make_of_host();
    }

  private:
    void make_of_host() {
        const int count = static_cast<int>(data_.runs.size());
        const int level = static_cast<int>(data_.levels.size());
        for (int first = data_.device_runs; first < count;) {
            int last = first;
            while (last + 1 < count && data_.run(last + 1).begin <= data_.run(last).end) ++last;
            const int above = add({.level = level, .first = first, .last = last});
            for (; first <= last; ++first)
                add({.level = level + 1,
                     .first = first,
                     .last = first,
                     .parent = above,
                     .is_run = true,
                     .name_end = module(first).size()});
        }
    }

    /// Adds a box and returns its index.
    int add(const FlameBox& box) {
        const int index = static_cast<int>(data_.boxes.size());
        data_.boxes.push_back(box);
        const auto level = static_cast<std::size_t>(box.level);
        if (data_.levels.size() <= level) data_.levels.resize(level + 1);
        data_.levels[level].push_back(index);
        return index;
    }

    const std::string& module(int run) const { return graph_.ops[data_.run(run).op].module; }

    bool same_kind(int a, int b) const {
        const FlameRun &one = data_.run(a), &other = data_.run(b);
        if (one.again || other.again) return one.again == other.again;
        return graph_.ops[one.op].phase == graph_.ops[other.op].phase;
    }

    /// Returns the part of a run's module path that follows the first `begin` characters and the dot after
    /// them.
    std::string_view part_after(int run, std::size_t begin, int parts) const {
        const std::string_view path = module(run);
        if (begin >= path.size()) return {};
        if (begin > 0) ++begin;  // the dot
        const std::size_t end = parts < kMostParts ? path.find('.', begin) : std::string_view::npos;
        return path.substr(begin, end == std::string_view::npos ? end : end - begin);
    }

    /// Adds the box and the boxes inside it. `parts` is the number of parts of the module path that are in
    /// the names of this box and of the boxes above it.
    void make(FlameBox box, int parts) {
        const bool is_phase = box.level == 0;
        while (is_phase || box.first < box.last) {
            const std::string_view next = part_after(box.first, box.name_end, parts);
            if (next.empty() || !all_have(box, next, parts)) break;
            if (is_phase && box.first == box.last) break;
            box.name_end += next.size() + (box.name_end > 0 ? 1 : 0);
            ++parts;
        }
        box.is_run = !is_phase && box.first == box.last;
        if (box.is_run) box.name_end = module(box.first).size();
        const int index = add(box);
        if (!box.is_run) make_inside(box, index, parts);
    }

    bool all_have(const FlameBox& box, std::string_view part, int parts) const {
        for (int run = box.first + 1; run <= box.last; ++run)
            if (part_after(run, box.name_end, parts) != part) return false;
        return true;
    }

    void make_inside(const FlameBox& box, int index, int parts) {
        for (int first = box.first; first <= box.last;) {
            const std::string_view part = part_after(first, box.name_end, parts);
            int last = first;
            while (!part.empty() && last < box.last && part_after(last + 1, box.name_end, parts) == part)
                ++last;
            const std::size_t begin =
                std::min(box.name_end + (box.name_end > 0 ? 1 : 0), module(first).size());
            make({.level = box.level + 1,
                  .first = first,
                  .last = last,
                  .parent = index,
                  .name_begin = begin,
                  .name_end = box.name_end + (part.empty() ? 0 : part.size() + (box.name_end > 0 ? 1 : 0))},
                 parts + (part.empty() ? 0 : 1));
            first = last + 1;
        }
    }

    const Graph& graph_;
    FlameData& data_;
};

void add_runs_on_host(const Graph& graph, const std::vector<Step>& steps, const Simulation& simulation,
                      FlameData& data) {
    for (const SideTrace& beside : simulation.beside) {
        if (beside.queue != SideQueue::host) continue;
        FlameRun run{.begin = static_cast<double>(beside.start.value),
                     .end = static_cast<double>(beside.end.value),
                     .step = static_cast<int>(beside.step),
                     .op = steps[beside.step].op(),
                     .on_host = true,
                     .time = beside.end - beside.start};
        if (data.axis == LaneAxis::steps) run.begin = data.step_begin[beside.step], run.end = run.begin + 1;
        run.made = bytes_made(graph, run.op);
        data.length = std::max(data.length, run.end);
        data.runs.push_back(run);
    }
}

}  // namespace

FlameData flame_data(const Graph& graph, const std::vector<Step>& steps, const Simulation& simulation,
                     LaneAxis axis) {
    const StepSpans spans = step_spans(steps, simulation, axis);
    FlameData data{.axis = axis, .length = spans.length, .time = simulation.time, .step_begin = spans.begin};
    IdVector<OpId, char> ran(graph.ops.size(), 0);
    for (std::size_t i = 0; i < simulation.steps.size(); ++i) {
        data.held.push_back(simulation.steps[i].during);
        if (!steps[i].runs()) continue;
        FlameRun run{.begin = spans.begin[i],
                     .end = spans.end[i],
                     .step = static_cast<int>(i),
                     .op = steps[i].op(),
                     .again = ran[steps[i].op()] != 0,
                     .time = simulation.steps[i].end - simulation.steps[i].start};
        run.made = bytes_made(graph, run.op);
        ran[run.op] = 1;
        data.runs.push_back(run);
    }
    data.device_runs = static_cast<int>(data.runs.size());
    add_runs_on_host(graph, steps, simulation, data);
    BoxMaker(graph, data).make_all();
    return data;
}

std::string_view module_of(const FlameData& data, const Graph& graph, const FlameBox& box) {
    return std::string_view(graph.ops[data.run(box.first).op].module).substr(0, box.name_end);
}

int FlameData::box_at(int level, double x) const {
    if (level < 0 || level >= static_cast<int>(levels.size())) return -1;
    const std::vector<int>& row = levels[static_cast<std::size_t>(level)];
    const auto after = std::upper_bound(row.begin(), row.end(), x,
                                        [&](double at, int index) { return at < begin_of(box(index)); });
    if (after == row.begin()) return -1;
    const int index = *std::prev(after);
    return x <= end_of(box(index)) ? index : -1;
}

std::vector<int> FlameData::boxes_in(int index) const {
    const FlameBox& around = box(index);
    std::vector<int> inside;
    const auto below = static_cast<std::size_t>(around.level) + 1;
    if (below >= levels.size()) return inside;
    const std::vector<int>& row = levels[below];
    auto at = std::lower_bound(row.begin(), row.end(), around.first,
                               [&](int other, int first) { return box(other).first < first; });
    for (; at != row.end() && box(*at).parent == index; ++at) inside.push_back(*at);
    return inside;
}

int FlameData::box_of_host_below(const FlameBox& box) const {
    if (device_runs == static_cast<int>(runs.size()) || is_of_host(box)) return -1;
    const std::vector<int>& row = levels[levels.size() - 2];
    const auto found = std::find_if(row.begin(), row.end(), [&](int index) {
        const FlameBox& of_host = this->box(index);
        return end_of(of_host) > begin_of(box) && begin_of(of_host) < end_of(box);
    });
    return found == row.end() ? -1 : *found;
}

int FlameData::box_above_host(const FlameBox& box) const {
    return is_of_host(box) ? box_at(0, (begin_of(box) + end_of(box)) / 2) : -1;
}

int FlameData::run_of_step(int step) const {
    const auto is_before = [](const FlameRun& run, int at) { return run.step < at; };
    const auto host = runs.begin() + device_runs;
    for (const auto& [begin, end] : {std::pair(runs.begin(), host), std::pair(host, runs.end())}) {
        const auto found = std::lower_bound(begin, end, step, is_before);
        if (found != end && found->step == step) return static_cast<int>(found - runs.begin());
    }
    return -1;
}

std::pair<int, int> FlameData::runs_between(double from, double to) const {
    const auto end = runs.begin() + device_runs;
    const auto first = std::upper_bound(runs.begin(), end, from,
                                        [](double at, const FlameRun& run) { return at < run.end; });
    const auto after = std::lower_bound(runs.begin(), end, to,
                                        [](const FlameRun& run, double at) { return run.begin < at; });
    if (first >= after) return {-1, -1};
    return {static_cast<int>(first - runs.begin()), static_cast<int>(after - runs.begin()) - 1};
}

FlameSums FlameData::host_sums() const {
    const int last = static_cast<int>(runs.size()) - 1;
    return last < device_runs ? FlameSums() : sums(device_runs, last);
}

FlameSums FlameData::sums(int first, int last) const {
    FlameSums sums;
    if (first < 0) return sums;
    for (int index = first; index <= last; ++index) {
        const FlameRun& of = run(index);
        ++sums.runs;
        sums.time += of.time;
        sums.made += of.made;
        if (!of.again) continue;
        ++sums.again;
        sums.again_time += of.time;
    }
    for (int step = run(first).step; step <= run(last).step; ++step)
        sums.most_held = std::max(sums.most_held, held[static_cast<std::size_t>(step)]);
    if (axis == LaneAxis::time)
        sums.waits = Nanoseconds(static_cast<std::int64_t>(run(last).end - run(first).begin)) - sums.time;
    return sums;
}

}  // namespace rematlas
