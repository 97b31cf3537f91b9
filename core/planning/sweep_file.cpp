#include <nlohmann/json.hpp>

#include "core/base/files.h"
#include "core/base/json_fields.h"
#include "core/planning/sweep.h"
#include "core/schedule/schedule_file.h"

namespace rematlas {
namespace {

using nlohmann::json;

SweepPoint read_point(const Fields& fields) {
    SweepPoint point;
    point.budget = Bytes(fields.integer("budget_bytes"));
    point.status = fields.text("status");
    if (point.status != "optimal" && point.status != "feasible" && point.status != "infeasible") {
        fields.fail("status '" + point.status.substr(0, 60) + "' is not known");
    }
    if (point.status != "infeasible") {
        point.peak = Bytes(fields.integer("peak_bytes"));
        point.overhead = fields.number("overhead");
        if (fields.has("arena_bytes")) point.arena = Bytes(fields.integer("arena_bytes"));
        if (fields.has("host_peak_bytes")) point.host_peak = Bytes(fields.integer("host_peak_bytes"));
    }
    if (point.budget.value < 0 || point.peak.value < 0 || point.overhead < 0 ||
        point.host_peak.value_or(Bytes(0)).value < 0)
        fields.fail("a value is negative");
    point.bound = bound_from(fields, point.overhead);
    return point;
}

json point_json(const SweepPoint& point) {
    json out = {
        {"budget_bytes", point.budget.value}, {"status", point.status}, {"bound", bound_json(point.bound)}};
    if (point.status == "infeasible") return out;
    out["peak_bytes"] = point.peak.value;
    if (point.arena) out["arena_bytes"] = point.arena->value;
    if (point.host_peak) out["host_peak_bytes"] = point.host_peak->value;
    out["overhead"] = point.overhead;
    return out;
}

Offload offload_of(const Fields& fields, Offload otherwise) {
    const std::string text = fields.text_or("offload", std::string(to_string(otherwise)));
    const std::optional<Offload> offload = offload_from(text);
    if (!offload) fields.fail("offload '" + text.substr(0, 60) + "' is not known");
    return *offload;
}

Copies read_copies(const Fields& curve, const std::string& place, Offload otherwise) {
    Copies copies{.what = offload_of(curve, otherwise)};
    if (copies.what == Offload::none) return copies;
    if (curve.has("links")) copies.links = links_from(Fields(curve.at("links"), place + ".links"));
    if (curve.has("host_budget_bytes")) copies.host_budget = Bytes(curve.integer("host_budget_bytes"));
    if (copies.host_budget.value_or(Bytes(0)).value < 0) curve.fail("host_budget_bytes is negative");
    return copies;
}

void add_copies(const Copies& copies, json& curve) {
    if (copies.what == Offload::none) return;
    curve["offload"] = to_string(copies.what);
    if (copies.links.both_ways()) add_links(copies.links, curve["links"]);
    if (copies.host_budget) curve["host_budget_bytes"] = copies.host_budget->value;
}

}  // namespace

Result<Sweep> read_sweep(const std::filesystem::path& path) {
    return parsed_file(path, parse_sweep);
}

Result<Sweep> parse_sweep(std::string_view text, const std::string& name) {
    return read_object(text, name, [](const Fields& file) {
        Sweep sweep;
        expect_format(file, "rematlas.sweep", 1);
        sweep.graph = file.text("graph");
        sweep.graph_sha256 = file.text_or("graph_sha256", "");
        sweep.pins = pins_from(file);
        // Older files have one value for all curves. This value is used for each curve without a value of its
        // own.
        const Offload of_all = offload_of(file, Offload::none);
        const json& curves = file.array("curves");
        for (std::size_t c = 0; c < curves.size(); ++c) {
            const std::string place = "curves[" + std::to_string(c) + "]";
            const Fields curve(curves[c], place);
            sweep.curves.push_back({curve.text("solver"), {}, read_copies(curve, place, of_all)});
            const json& points = curve.array("points");
            for (std::size_t p = 0; p < points.size(); ++p) {
                sweep.curves.back().points.push_back(
                    read_point(Fields(points[p], place + ".points[" + std::to_string(p) + "]")));
            }
        }
        return sweep;
    });
}

std::string sweep_text(const Sweep& sweep) {
    json curves = json::array();
    for (const SweepCurve& curve : sweep.curves) {
        json points = json::array();
        for (const SweepPoint& point : curve.points) points.push_back(point_json(point));
        json one = {{"solver", curve.solver}, {"points", std::move(points)}};
        add_copies(curve.copies, one);
        curves.push_back(std::move(one));
    }
    json out = {{"format", "rematlas.sweep"},
                {"version", 1},
                {"graph", sweep.graph},
                {"graph_sha256", sweep.graph_sha256},
                {"curves", std::move(curves)}};
    if (!sweep.pins.empty()) out["pins"] = pins_json(sweep.pins);
    return out.dump(1) + "\n";
}

Result<void> write_sweep(const Sweep& sweep, const std::filesystem::path& path) {
    return write_file(path, sweep_text(sweep));
}

Schedule schedule_of(const Problem& problem, std::string_view solver, const SweepPoint& point, Pins pins) {
    const Graph& graph = problem.graph;
    const auto time =
        static_cast<std::int64_t>(point.overhead * static_cast<double>(problem.flat.base_time) + 0.5);
    const bool copies = point.host_peak.has_value();
    const bool own_links = graph.device && graph.device->links == problem.copies.links;
    return {.graph = graph.name,
            .graph_sha256 = graph.sha256,
            .solver = std::string(solver),
            .config = nullptr,
            .budget = point.budget,
            .time = Nanoseconds(time),
            .overhead = point.overhead,
            .peak = point.peak,
            .host_budget = copies ? problem.copies.host_budget : std::nullopt,
            .host_peak = point.host_peak,
            .bound = point.bound,
            .status = point.status,
            .solve_seconds = 0,
            .steps = point.steps,
            .homes = point.homes,
            .links = copies && !own_links ? std::optional(problem.copies.links) : std::nullopt,
            .pins = std::move(pins)};
}

}  // namespace rematlas
