#include "core/schedule/schedule_file.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/files.h"
#include "core/base/json_fields.h"
#include "core/graph/graph_file.h"

namespace rematlas {
namespace {

using nlohmann::json;

constexpr int kVersion = 2;
constexpr std::array<std::string_view, 7> kStepNames = {"run",   "run_inplace", "free",    "offload",
                                                        "fetch", "drop",        "run_host"};
constexpr std::array<std::string_view, 5> kClassNames = {
    "Checkmate's stages in the graph's order", "any order, any reruns",
    "any order, any reruns, copies of activations to the host", "any order, any reruns, copies to the host",
    "any order, any reruns, copies to the host, ops on the host"};

/// Says whether only version 2 of the format has this kind of step.
bool is_new(StepKind kind) {
    return kind == StepKind::drop || kind == StepKind::run_host;
}
bool needs_second_version(const Schedule& schedule) {
    return schedule.homes != Homes{} || std::any_of(schedule.steps.begin(), schedule.steps.end(),
                                                    [](const Step& step) { return is_new(step.kind); });
}

Step read_step(const Fields& file, const json& step, std::size_t index, int version) {
    const std::string key = "steps[" + std::to_string(index) + "]";
    if (!step.is_array() || step.size() != 2 || !step[0].is_string())
        file.fail(key + " is not a pair such as [\"run\", 3]");
    const std::string& name = step[0].get_ref<const std::string&>();
    const auto kind = std::find(kStepNames.begin(), kStepNames.end(), name);
    if (kind == kStepNames.end()) file.fail(key + ": step '" + name.substr(0, 60) + "' is not known");
    if (version < 2 && is_new(static_cast<StepKind>(kind - kStepNames.begin())))
        file.fail(key + ": step '" + name + "' is of version 2");
    const std::int64_t id = file.whole(step[1], key);
    if (id < 0 || id > INT32_MAX) file.fail(key + ": id " + std::to_string(id) + " is out of range");
    return {static_cast<StepKind>(kind - kStepNames.begin()), static_cast<std::int32_t>(id)};
}

void read_predicted(const Fields& file, Schedule& schedule) {
    if (!file.has("predicted")) return;
    const Fields predicted(file.at("predicted"), "predicted");
    schedule.time = Nanoseconds(predicted.integer_or("time_ns", 0));
    schedule.overhead = predicted.number("overhead");
    schedule.peak = Bytes(predicted.integer("peak_bytes"));
    if (predicted.has("host_peak_bytes")) schedule.host_peak = Bytes(predicted.integer("host_peak_bytes"));
    if (schedule.host_peak && schedule.host_peak->value < 0) predicted.fail("host_peak_bytes is negative");
    if (schedule.time.value < 0 || schedule.overhead < 0 || schedule.peak.value < 0)
        predicted.fail("a value is negative");
}

std::vector<TensorId> read_tensors_once(const Fields& file, const char* key) {
    std::vector<TensorId> tensors;
    if (!file.has(key)) return tensors;
    const json& list = file.array(key);
    for (std::size_t i = 0; i < list.size(); ++i) {
        const std::string place = std::string(key) + "[" + std::to_string(i) + "]";
        const std::int64_t id = file.whole(list[i], place);
        if (id < 0 || id > INT32_MAX) file.fail(place + ": id " + std::to_string(id) + " is out of range");
        if (!tensors.empty() && tensors.back().value >= id)
            file.fail(place + ": the tensors are not in ascending order");
        tensors.emplace_back(id);
    }
    return tensors;
}

Homes read_homes(const Fields& file, int version) {
    for (const char* key : {"home_on_host", "stays", "cyclic"})
        if (version < 2 && file.has(key)) file.fail(std::string(key) + " is of version 2");
    Homes homes{.on_host = read_tensors_once(file, "home_on_host"),
                .stays = read_tensors_once(file, "stays"),
                .cyclic = file.boolean_or("cyclic", false)};
    for (TensorId t : homes.stays)
        if (!std::binary_search(homes.on_host.begin(), homes.on_host.end(), t))
            file.fail("stays names tensor " + std::to_string(t.value) + ", which home_on_host does not");
    return homes;
}

std::vector<std::int32_t> read_evicted(const Fields& file, const std::vector<Step>& steps) {
    std::vector<std::int32_t> evicted;
    if (!file.has("evicted")) return evicted;
    const json& list = file.array("evicted");
    for (std::size_t i = 0; i < list.size(); ++i) {
        const std::string key = "evicted[" + std::to_string(i) + "]";
        const std::int64_t at = file.whole(list[i], key);
        if (at < 0 || at >= static_cast<std::int64_t>(steps.size()) ||
            steps[static_cast<std::size_t>(at)].kind != StepKind::free)
            file.fail(key + ": step " + std::to_string(at) + " is no free");
        if (!evicted.empty() && evicted.back() >= at)
            file.fail(key + ": the steps are not in ascending order");
        evicted.push_back(static_cast<std::int32_t>(at));
    }
    return evicted;
}

std::optional<Addresses> read_addresses(const Fields& file) {
    if (!file.has("addresses")) return std::nullopt;
    const Fields fields(file.at("addresses"), "addresses");
    Addresses addresses{
        .alignment = fields.integer("alignment"), .arena = Bytes(file.integer("arena_bytes")), .offsets = {}};
    if (addresses.alignment < 1 || addresses.arena.value < 0)
        fields.fail("the alignment or the arena is not positive");
    const json& offsets = fields.array("offsets");
    for (std::size_t i = 0; i < offsets.size(); ++i)
        addresses.offsets.emplace_back(fields.whole(offsets[i], "offsets[" + std::to_string(i) + "]"));
    return addresses;
}

}  // namespace

std::string_view to_string(StepKind kind) {
    return kStepNames[static_cast<std::size_t>(kind)];
}

std::string_view to_string(ScheduleClass of) {
    return kClassNames[static_cast<std::size_t>(of)];
}

std::optional<ScheduleClass> schedule_class_from(std::string_view text) {
    const auto found = std::find(kClassNames.begin(), kClassNames.end(), text);
    if (found == kClassNames.end()) return std::nullopt;
    return static_cast<ScheduleClass>(found - kClassNames.begin());
}

int host_runs(const std::vector<Step>& steps) {
    return static_cast<int>(std::count_if(steps.begin(), steps.end(),
                                          [](const Step& step) { return step.kind == StepKind::run_host; }));
}

ScheduleClass class_of(const std::vector<Step>& steps) {
    if (host_runs(steps) > 0) return ScheduleClass::with_host_ops;
    const bool copies = std::any_of(steps.begin(), steps.end(), [](const Step& step) {
        return !step.runs() && step.kind != StepKind::free;
    });
    return copies ? ScheduleClass::with_copies : ScheduleClass::any_order;
}

Result<Schedule> parse_schedule(std::string_view text, std::string_view name) {
    return read_object(text, name, [](const Fields& file) {
        Schedule schedule;
        const int version = expect_format(file, "rematlas.schedule", kVersion);
        schedule.graph = file.text("graph");
        schedule.graph_sha256 = file.text_or("graph_sha256", "");
        schedule.solver = file.text_or("solver", "");
        if (file.has("config")) schedule.config = std::make_shared<const json>(file.at("config"));
        schedule.budget = Bytes(file.integer_or("budget_bytes", 0));
        if (schedule.budget.value < 0) file.fail("budget_bytes is negative");
        if (file.has("host_budget_bytes")) schedule.host_budget = Bytes(file.integer("host_budget_bytes"));
        if (schedule.host_budget && schedule.host_budget->value < 0)
            file.fail("host_budget_bytes is negative");
        read_predicted(file, schedule);
        schedule.bound = bound_from(file, schedule.overhead);
        schedule.status = file.text_or("status", "feasible");
        schedule.solve_seconds = file.has("solve_seconds") ? file.number("solve_seconds") : 0;
        const json& steps = file.array("steps");
        schedule.steps.reserve(steps.size());
        for (std::size_t i = 0; i < steps.size(); ++i)
            schedule.steps.push_back(read_step(file, steps[i], i, version));
        schedule.homes = read_homes(file, version);
        if (file.has("links")) schedule.links = links_from(Fields(file.at("links"), "links"));
        schedule.pins = pins_from(file);
        schedule.addresses = read_addresses(file);
        schedule.evicted = read_evicted(file, schedule.steps);
        return schedule;
    });
}

Result<Schedule> read_schedule(const std::filesystem::path& path) {
    return parsed_file(path, parse_schedule);
}

std::optional<Bound> bound_from(const Fields& object, double overhead) {
    if (!object.has("bound")) return std::nullopt;
    const Fields fields(object.at("bound"), "bound");
    Bound bound{.overhead = fields.number("overhead"),
                .over = schedule_class_from(fields.text_or("class", "")),
                .seconds = fields.has("seconds") ? fields.number("seconds") : 0.0};
    if (fields.has("gap"))
        bound.gap = fields.number("gap");
    else if (bound.overhead > 0)
        bound.gap = std::max(0.0, overhead / bound.overhead - 1);
    if (fields.has("nodes")) bound.nodes = fields.integer("nodes");
    return bound;
}

Pins pins_from(const Fields& object) {
    Pins pins;
    if (!object.has("pins")) return pins;
    const json& list = object.array("pins");
    for (std::size_t i = 0; i < list.size(); ++i) {
        const std::string key = "pins[" + std::to_string(i) + "]";
        const json& pair = list[i];
        if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string())
            object.fail(key + " is not a pair such as [\"blocks.*.attn\", \"recompute\"]");
        Result<Pin> pin =
            pin_of(pair[0].get_ref<const std::string&>(), pair[1].get_ref<const std::string&>());
        if (!pin) object.fail(key + ": " + pin.error().message);
        pins.push_back(pin.take());
    }
    return pins;
}

json pins_json(const Pins& pins) {
    json list = json::array();
    for (const Pin& pin : pins) list.push_back({pin.pattern, to_string(pin.kind)});
    return list;
}

json bound_json(const std::optional<Bound>& bound) {
    if (!bound) return nullptr;
    json object = {{"overhead", bound->overhead},
                   {"gap", bound->gap},
                   {"class", bound->over ? to_string(*bound->over) : std::string_view()}};
    if (bound->seconds > 0) object["seconds"] = bound->seconds;
    if (bound->nodes) object["nodes"] = *bound->nodes;
    return object;
}

std::string schedule_text(const Schedule& schedule) {
    json head = {{"format", "rematlas.schedule"},
                 {"version", needs_second_version(schedule) ? kVersion : 1},
                 {"graph", schedule.graph},
                 {"graph_sha256", schedule.graph_sha256},
                 {"solver", schedule.solver},
                 {"config", schedule.config ? *schedule.config : json::object()},
                 {"budget_bytes", schedule.budget.value},
                 {"predicted",
                  {{"time_ns", schedule.time.value},
                   {"overhead", schedule.overhead},
                   {"peak_bytes", schedule.peak.value}}},
                 {"bound", bound_json(schedule.bound)},
                 {"status", schedule.status},
                 {"solve_seconds", schedule.solve_seconds}};
    if (schedule.host_budget) head["host_budget_bytes"] = schedule.host_budget->value;
    if (schedule.host_peak) head["predicted"]["host_peak_bytes"] = schedule.host_peak->value;
    if (!schedule.homes.on_host.empty()) head["home_on_host"] = schedule.homes.on_host;
    if (!schedule.homes.stays.empty()) head["stays"] = schedule.homes.stays;
    if (schedule.homes.cyclic) head["cyclic"] = true;
    if (schedule.links) add_links(*schedule.links, head["links"]);
    if (!schedule.pins.empty()) head["pins"] = pins_json(schedule.pins);
    if (!schedule.evicted.empty()) head["evicted"] = schedule.evicted;
    if (schedule.addresses) {
        json offsets = json::array();
        for (Bytes offset : schedule.addresses->offsets) offsets.push_back(offset.value);
        head["arena_bytes"] = schedule.addresses->arena.value;
        head["addresses"] = {{"alignment", schedule.addresses->alignment}, {"offsets", std::move(offsets)}};
    }
    std::string text = head.dump();
    text.pop_back();
    text += ",\n\"steps\": [";
    for (std::size_t i = 0; i < schedule.steps.size(); ++i) {
        text += i == 0 ? "\n" : i % 8 == 0 ? ",\n" : ", ";
        text += "[\"" + std::string(to_string(schedule.steps[i].kind)) + "\", " +
                std::to_string(schedule.steps[i].id) + "]";
    }
    return text + "]}\n";
}

Result<void> write_schedule(const Schedule& schedule, const std::filesystem::path& path) {
    return write_file(path, schedule_text(schedule));
}

namespace {

Error not_for_training(const std::string& name) {
    return {name + ": the graph holds nothing to replay: it was not captured from a model"};
}

}  // namespace

/// A plan file has one line of JSON with the two lengths, then the bytes of the graph file, then the bytes of
/// the schedule file.
Result<Plan> parse_plan(std::string_view bytes, const std::string& name) {
    const std::size_t line = bytes.find('\n');
    if (line == std::string_view::npos || line > 65536) return Error{name + ": not a plan file"};
    const auto lengths = read_object(bytes.substr(0, line), name, [](const Fields& fields) {
        expect_format(fields, "rematlas.plan", 1);
        if (fields.integer("graph_bytes") < 0 || fields.integer("schedule_bytes") < 0)
            fields.fail("a length is negative");
        return std::pair{static_cast<std::size_t>(fields.integer("graph_bytes")),
                         static_cast<std::size_t>(fields.integer("schedule_bytes"))};
    });
    if (!lengths) return lengths.error();
    const auto [graph_bytes, schedule_bytes] = *lengths;
    const std::string_view rest = bytes.substr(line + 1);
    if (graph_bytes > rest.size() || schedule_bytes != rest.size() - graph_bytes) {
        return Error{name + ": is truncated or has bytes too many"};
    }
    Result<Graph> graph = parse_graph(rest.substr(0, graph_bytes), name + " (graph)");
    if (!graph) return graph.error();
    Result<Schedule> schedule = parse_schedule(rest.substr(graph_bytes), name + " (schedule)");
    if (!schedule) return schedule.error();
    if (schedule->graph_sha256 != graph->sha256)
        return Error{name + ": the schedule in it belongs to another graph"};
    return Plan{graph.take(), schedule.take()};
}

Result<Plan> read_plan(const std::filesystem::path& path) {
    return parsed_file(path, parse_plan);
}

Result<void> write_plan(std::string_view graph_text, const Schedule& schedule,
                        const std::filesystem::path& path) {
    Result<Graph> graph = parse_graph(graph_text, path.string());
    if (!graph) return graph.error();
    if (!graph->replay) return not_for_training(path.string());
    if (schedule.graph_sha256 != graph->sha256)
        return Error{path.string() + ": the schedule belongs to another graph"};
    const std::string steps = schedule_text(schedule);
    const json head = {{"format", "rematlas.plan"},
                       {"version", 1},
                       {"graph_bytes", graph_text.size()},
                       {"schedule_bytes", steps.size()}};
    return write_file(path, head.dump() + "\n" + std::string(graph_text) + steps);
}

Result<Plan> read_plan_or_schedule(const std::filesystem::path& path) {
    Result<std::string> bytes = read_file(path);
    if (!bytes) return bytes.error();
    if (const auto line = bytes->find('\n');
        line != std::string::npos && bytes->substr(0, line).find("rematlas.plan") != std::string::npos) {
        return parse_plan(*bytes, path.string());
    }
    Result<Schedule> schedule = parse_schedule(*bytes, path.string());
    if (!schedule) return schedule.error();
    const std::filesystem::path folder =
        path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
    Result<std::filesystem::path> graph_path = find_graph_file(folder, schedule->graph_sha256);
    if (!graph_path) return graph_path.error();
    Result<Graph> graph = read_graph(*graph_path);
    if (!graph) return graph.error();
    if (!graph->replay) return not_for_training(graph_path->string());
    return Plan{graph.take(), schedule.take()};
}

}  // namespace rematlas
