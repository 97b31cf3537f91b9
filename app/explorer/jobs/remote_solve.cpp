#include "app/explorer/jobs/remote_solve.h"

#include <nlohmann/json.hpp>

#include "core/base/files.h"
#include "core/base/json_fields.h"
#include "core/checking/check.h"
#include "core/schedule/schedule_file.h"

namespace rematlas::explorer {
namespace {

constexpr int is_infeasible = 1, no_such_program = 127;

QString told(std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<int>(text.size()));
}

/// Returns a shell command that makes a temporary folder on the remote machine, solves in it, and removes it
/// afterwards. The graph is sent to the command's standard input.
QString command_of(const SolveRequest& request, Bytes budget) {
    QString flags =
        QStringLiteral(" --budget %1 --solver %2 --time-limit %3ms --threads %4 --gap %5 --json")
            .arg(budget.value)
            .arg(shell_word(told(request.solver)))
            .arg(std::chrono::duration_cast<std::chrono::milliseconds>(request.limits.time).count())
            .arg(request.limits.threads)
            .arg(request.limits.gap, 0, 'g', 12);
    flags += QStringLiteral(" --seed %1").arg(request.limits.seed);
    for (const Pin& pin : request.pins)
        flags += " --pin " + shell_word(told(pin.pattern) + "=" + told(to_string(pin.kind)));
    QString links;
    const Copies& copies = request.copies;
    if (copies.what != Offload::none) {
        flags += " --offload " + told(to_string(copies.what));
        if (copies.host_budget) flags += QStringLiteral(" --host-budget %1").arg(copies.host_budget->value);
        if (copies.links.both_ways()) {
            nlohmann::json file = {{"format", "rematlas.links"}, {"version", 1}, {"name", "links"}};
            add_links(copies.links, file);
            links =
                "printf %s " + shell_word(QString::fromStdString(file.dump())) + " >\"$d/links.json\" && ";
            flags += " --device-profile \"$d/links.json\"";
        }
    }
    return "d=$(mktemp -d) && trap 'rm -rf \"$d\"' EXIT && cat >\"$d/asked.graph.json\" && " + links +
           "rematlas solve \"$d/asked.graph.json\"" + flags +
           " -o \"$d/found.schedule.json\" >\"$d/answer.json\"; code=$?; if [ $code = 0 ]; then cat "
           "\"$d/found.schedule.json\"; else cat \"$d/answer.json\"; fi; exit $code";
}

std::int32_t read_id(const Fields& of, std::size_t count) {
    const std::int64_t id = of.integer("id");
    if (id < 0 || id >= static_cast<std::int64_t>(count))
        of.fail("the graph has no id " + std::to_string(id));
    return static_cast<std::int32_t>(id);
}

std::optional<Bytes> bytes_if_told(const Fields& answer, const char* key) {
    return answer.has(key) ? std::optional(Bytes(answer.integer(key))) : std::nullopt;
}

/// Adds to `none` the op that needs the most memory, and the tensors that are held while this op runs. Throws
/// FieldError if `graph` has no such op or tensor.
void read_place(const Fields& answer, const Graph& graph, Infeasible& none) {
    const Fields place(answer.at("dominant"), "dominant");
    if (place.has("op")) none.op = OpId(read_id(Fields(place.at("op"), "op"), graph.ops.size()));
    for (const nlohmann::json& tensor : place.array("tensors"))
        none.dominant.emplace_back(read_id(Fields(tensor, "tensors"), graph.tensors.size()));
}

Result<Outcome> infeasible_from(const QByteArray& text, const Graph& graph, Bytes budget,
                                const std::string& host) {
    const Result<nlohmann::json> parsed = parse_json(text.toStdString(), host);
    if (!parsed) return parsed.error();
    try {
        const Fields answer(*parsed, host);
        // The fields are set one by one, because GCC 12 frees members of an aggregate twice if a later
        // initializer throws.
        Infeasible none;
        none.needed = Bytes(answer.integer("needed_bytes"));
        none.proven = answer.boolean_or("proven", false);
        none.over = schedule_class_from(answer.text_or("class", "")).value_or(none.over);
        none.reason = answer.text_or("reason", "");
        read_place(answer, graph, none);
        none.smallest_found = bytes_if_told(answer, "smallest_found_bytes");
        none.under_pins = bytes_if_told(answer, "under_pins_bytes");
        none.without_pins = bytes_if_told(answer, "without_pins_bytes");
        Outcome outcome;
        outcome.budget = budget;
        outcome.answer = std::move(none);
        return outcome;
    } catch (const FieldError& error) {
        return Error{error.message};
    }
}

Result<Outcome> schedule_from(const QByteArray& text, const LoadedGraph& graph, const SolveRequest& request,
                              Bytes budget, const std::string& host) {
    Result<Schedule> schedule = parse_schedule(text.toStdString(), host);
    if (!schedule) return schedule.error();
    if (schedule->graph_sha256 != graph.graph.sha256)
        return Error{host + ": answers for another graph than the one that was sent"};
    if (const Result<void> obeys = obeys_pins(graph.graph, schedule->steps, request.pins); !obeys)
        return Error{host + ": " + obeys.error().message};
    const CheckBudgets asked{.device = budget, .host = request.copies.host_budget};
    if (const CheckReport report = check(graph.graph, *schedule, asked); !report.ok())
        return Error{host +
                     ": answers with a schedule that the checker refuses; install the same version of" +
                     " rematlas there: " + report.violations.front()};
    return Outcome{.answer = schedule.take(), .budget = budget};
}

}  // namespace

Result<Outcome> solve_there(const RemoteHost& host, const LoadedGraph& graph, const SolveRequest& request) {
    const std::string name = host.name.toStdString();
    if (graph.text.empty())
        return Error{name + ": solvers there need the graph's file; open the .graph.json instead of a plan"};
    if (request.options || request.arena)
        return Error{name + ": options of solvers and budgets of arenas are for solvers of this machine"};
    const Result<Bytes> budget = bytes_of(request.budget, step_bytes(graph.flat));
    if (!budget) return budget.error();
    const Result<RemoteAnswer> answer = run_there(host, command_of(request, *budget),
                                                  QByteArray::fromStdString(graph.text), request.limits.stop);
    if (!answer) return answer.error();
    if (answer->exit == 0) return schedule_from(answer->out, graph, request, *budget, name);
    if (answer->exit == is_infeasible) return infeasible_from(answer->out, graph.graph, *budget, name);
    if (answer->exit == no_such_program)
        return Error{name + ": the program rematlas is not in the PATH of that machine; install it there"};
    const std::string said = answer->err.trimmed().right(500).toStdString();
    return Error{name + ": " + (said.empty() ? "rematlas ended with " + std::to_string(answer->exit) : said)};
}

}  // namespace rematlas::explorer
