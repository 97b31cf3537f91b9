#include "tests/core/support/problem_files.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/graph/graph_file.h"

namespace rematlas {
namespace {

std::optional<double> number(const nlohmann::json& entry, const char* key) {
    const auto at = entry.find(key);
    return at != entry.end() && at->is_number() ? std::optional(at->get<double>()) : std::nullopt;
}

ProblemFile::Reference reference_from(const nlohmann::json& entry) {
    ProblemFile::Reference reference;
    reference.fraction = entry.at("fraction").get<double>();
    reference.budget = Bytes(entry.at("budget_bytes").get<std::int64_t>());
    reference.best_known = number(entry, "best_known_overhead").value_or(0);
    reference.lower_bound = number(entry, "lower_bound").value_or(1);
    reference.chen_sqrt = number(entry, "chen_sqrt");
    reference.chen_greedy = number(entry, "chen_greedy");
    if (const auto dtr = entry.find("dtr"); dtr != entry.end() && dtr->is_object()) {
        for (const auto& [heuristic, overhead] : dtr->items()) {
            if (overhead.is_number()) reference.dtr[heuristic] = overhead.get<double>();
        }
    }
    return reference;
}

}  // namespace

std::filesystem::path problem_folder() {
    if (const char* named = std::getenv("REMATLAS_PROBLEMS")) return named;
    return std::filesystem::path(REMATLAS_SOURCE_DIR) / ".." / "shared" / "problems";
}

std::vector<ProblemFile> read_problem_files() {
    std::vector<ProblemFile> problems;
    std::ifstream file(problem_folder() / "reference.json");
    if (!file) return problems;
    const nlohmann::json references = nlohmann::json::parse(file);
    for (const auto& [name, entries] : references.items()) {
        Result<Graph> graph = read_graph(problem_folder() / (name + ".graph.json"));
        if (!graph) continue;
        ProblemFile problem{.graph = graph.take(), .references = {}};
        for (const auto& entry : entries) problem.references.push_back(reference_from(entry));
        problems.push_back(std::move(problem));
    }
    return problems;
}

}  // namespace rematlas
