#include "app/cli/reading.h"

#include <charconv>
#include <fstream>

#include "core/base/numbers.h"
#include "core/graph/graph_file.h"
#include "core/schedule/schedule_file.h"

namespace rematlas {

Result<FileKind> our_file(const std::filesystem::path& path) {
    std::error_code failure;
    if (!std::ifstream(path) || std::filesystem::is_directory(path, failure))
        return Error{path.string() + ": cannot open"};
    const FileKind kind = file_kind(path);
    if (kind == FileKind::unknown || kind == FileKind::model)
        return Error{path.string() +
                     ": is neither a graph, a schedule, a plan, a sweep nor an answer of fits"};
    if (kind == FileKind::run)
        return Error{path.string() + ": tells the steps of a training run; rematlas inspect reads it"};
    if (kind == FileKind::measurement)
        return Error{path.string() + ": is a measurement by torch; rematlas inspect reads it"};
    return kind;
}

Result<void> check_is_no_input(const std::string& out, std::initializer_list<std::string> inputs) {
    std::error_code failure;
    for (const std::string& input : inputs)
        if (!out.empty() && !input.empty() && std::filesystem::equivalent(out, input, failure))
            return Error{out + ": is the file that is read, and would be lost; choose another name"};
    return {};
}

Result<Schedule> schedule_in(const std::filesystem::path& path) {
    switch (file_kind(path)) {
        case FileKind::plan:
            return Error{path.string() +
                         ": is a plan, not a schedule; name the .schedule.json that it was exported from "
                         "(draw, report and run take plans)"};
        case FileKind::graph:
            return Error{path.string() + ": is a graph, not a schedule; solve makes a schedule of it"};
        case FileKind::sweep:
            return Error{
                path.string() +
                ": is a sweep, not a schedule; draw, report and export take sweeps, and solve makes a "
                "schedule for one of its budgets"};
        case FileKind::fits:
            return Error{path.string() + ": is an answer of fits, not a schedule; draw takes it"};
        case FileKind::run:
            return Error{path.string() +
                         ": tells the steps of a training run, not a schedule; inspect reads it"};
        case FileKind::model:
            return Error{path.string() + ": is a model, not a schedule; capture makes a graph of it"};
        case FileKind::measurement:
            return Error{path.string() + ": is a measurement by torch, not a schedule; inspect reads it"};
        case FileKind::schedule:
        case FileKind::unknown:
            break;
    }
    return read_schedule(path);
}

Result<std::filesystem::path> graph_file_for(const Schedule& schedule,
                                             const std::filesystem::path& schedule_path,
                                             const std::string& graph_path) {
    if (!graph_path.empty()) return std::filesystem::path(graph_path);
    const std::filesystem::path folder =
        schedule_path.has_parent_path() ? schedule_path.parent_path() : std::filesystem::path(".");
    Result<std::filesystem::path> found = find_graph_file(folder, schedule.graph_sha256);
    if (!found) return Error{found.error().message + "; name it with --graph"};
    return found;
}

Result<Graph> graph_for(const Schedule& schedule, const std::filesystem::path& schedule_path,
                        const std::string& graph_path) {
    const Result<std::filesystem::path> file = graph_file_for(schedule, schedule_path, graph_path);
    if (!file) return file.error();
    return read_graph(*file);
}

Result<std::optional<Graph>> graph_if_known(const Sweep& sweep, const std::filesystem::path& sweep_path,
                                            const std::string& graph_path) {
    std::filesystem::path file = graph_path;
    if (graph_path.empty()) {
        const std::filesystem::path folder = sweep_path.has_parent_path() ? sweep_path.parent_path() : ".";
        const Result<std::filesystem::path> beside = find_graph_file(folder, sweep.graph_sha256);
        if (!beside) return std::optional<Graph>();
        file = *beside;
    }
    Result<Graph> graph = read_graph(file);
    if (!graph) return graph.error();
    return std::optional<Graph>(graph.take());
}

Result<Budget> budget_flag(const std::string& text) {
    Result<Budget> budget = parse_budget(text);
    if (!budget) return Error{"--budget: " + budget.error().message};
    return budget;
}

Result<Bytes> budget_flag(const std::string& text, const StepBytes& step) {
    const Result<Budget> budget = budget_flag(text);
    if (!budget) return budget.error();
    Result<Bytes> bytes = bytes_of(*budget, step);
    if (!bytes) return Error{"--budget: " + bytes.error().message};
    return bytes;
}

CLI::Validator number_between(double least, double most) {
    const CLI::Range range(least, most);
    const auto check = [range](std::string& text) {
        double number = 0;
        const bool ordered = !CLI::detail::lexical_cast(text, number) || number == number;
        return ordered ? range(text) : "'" + text + "' is not a number";
    };
    return CLI::Validator(check, range.get_description());
}

CLI::Validator unsigned_number() {
    const auto check = [](std::string& text) {
        return number_from<std::uint64_t>(text)
                   ? std::string()
                   : "'" + text.substr(0, 60) + "' is not a whole number from 0 to 2^64 - 1";
    };
    return CLI::Validator(check, "");
}

Result<Nanoseconds> duration_flag(const char* flag, const std::string& text) {
    Result<Nanoseconds> time = parse_duration(text);
    if (!time) return Error{std::string(flag) + ": " + time.error().message};
    if (time->value <= 0) return Error{std::string(flag) + ": '" + text + "' is not above 0"};
    return time;
}

Result<double> gap_flag(const std::string& text) {
    double number = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    const bool percent = rest + 1 == end && *rest == '%';
    const double gap = percent ? number / 100 : number;
    if (error != std::errc() || (rest != end && !percent) || !(gap >= 0 && gap <= 1))
        return Error{"--gap: '" + text + "' is no share from 0 to 1, like 0.1% or 0.001"};
    return gap;
}

std::vector<std::string> parts_of(const std::string& text) {
    std::vector<std::string> parts;
    std::size_t start = 0;
    for (std::size_t comma = text.find(','); comma != std::string::npos;
         start = comma + 1, comma = text.find(',', start)) {
        parts.push_back(text.substr(start, comma - start));
    }
    parts.push_back(text.substr(start));
    return parts;
}

}  // namespace rematlas
