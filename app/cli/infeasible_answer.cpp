#include "app/cli/infeasible_answer.h"

#include <algorithm>
#include <cstdio>

#include "core/bounds/least_footprint.h"
#include "core/planning/request.h"

namespace rematlas {

using nlohmann::json;

namespace {

/// Returns for example "203 MiB (213157888 bytes)".
std::string exact_bytes(Bytes bytes) {
    return format_bytes(bytes) + " (" + std::to_string(bytes.value) + " bytes)";
}

}  // namespace

InfeasibleAnswer::InfeasibleAnswer(const Graph& graph, const FlatGraph& flat, const std::string& solver,
                                   Offload asked, const Outcome& outcome)
    : graph_(graph),
      flat_(flat),
      asked_(asked),
      solver_(solver),
      outcome_(outcome),
      answer_(*outcome.infeasible()),
      step_(step_bytes(flat)),
      enough_(answer_.under_pins ? answer_.under_pins : answer_.smallest_found) {}

void InfeasibleAnswer::print() const {
    std::fflush(stdout);
    for (const std::string& line : lines()) std::fprintf(stderr, "rematlas: %s\n", line.c_str());
    if (answer_.op.valid())
        std::printf("most is needed at op %d, %s %s:\n", answer_.op.value,
                    graph_.ops[answer_.op].name.c_str(), graph_.ops[answer_.op].module.c_str());
    for (std::size_t i = 0; i < answer_.dominant.size() && i < 5; ++i) {
        const Tensor& tensor = graph_.tensors[answer_.dominant[i]];
        std::printf("  %12s  %s\n", format_bytes(tensor.bytes).c_str(), tensor.name.c_str());
    }
}

std::vector<std::string> InfeasibleAnswer::lines() const {
    std::vector<std::string> lines{reason()};
    if (answer_.under_pins && answer_.without_pins)
        lines.push_back("this is under the pins; under them " + exact_bytes(*answer_.under_pins) +
                        " is known to be enough, without them " + format_bytes(*answer_.without_pins));
    if (std::string help = help_of_copies(); !help.empty()) lines.push_back(std::move(help));
    return lines;
}

std::string InfeasibleAnswer::reason() const {
    const Bytes budget = outcome_.budget;
    if (answer_.proven) {
        const bool of_host = asked_ != Offload::none && !answer_.reason.empty();
        return "infeasible: the budget is " + exact_bytes(budget) + "; every schedule needs at least " +
               exact_bytes(answer_.needed) + (of_host ? " " + answer_.reason : "") + ", " +
               format_bytes(answer_.needed - budget) + " more" + known_to_work();
    }
    std::string found =
        answer_.smallest_found ? ", its smallest is " + format_bytes(*answer_.smallest_found) : "";
    if (!answer_.reason.empty()) found += " (" + answer_.reason + ")";
    return "infeasible: " + solver_ + " found no schedule within " + format_bytes(budget) + found +
           "; none can need less than " + format_bytes(answer_.needed) + known_to_work();
}

std::string InfeasibleAnswer::help_of_copies() const {
    if (moves_weights(asked_) || !graph_.device || graph_.device->links == Links{}) return {};
    const Bytes least = least_footprint(graph_, with_results_from_host(graph_, flat_)).bytes;
    if (least > outcome_.budget) return {};
    std::int64_t states = 0;
    for (const Tensor& tensor : graph_.tensors)
        if (tensor.kind == TensorKind::optimizer_state || tensor.kind == TensorKind::parameter)
            states += tensor.bytes.value;
    return format_bytes(Bytes(states)) +
           " of parameters and optimizer states may live on the host with --offload all; every schedule "
           "needs at least " +
           format_bytes(least) + " of the device then";
}

std::string InfeasibleAnswer::known_to_work() const {
    if (!enough_) return {};
    const std::string share = share_of(*enough_, Budget::Of::peak, step_);
    const std::string of_activations = share_of(*enough_, Budget::Of::activations, step_);
    return "; a budget that works: " + std::to_string(enough_->value) +
           (share.empty() ? "" : ", or " + share) +
           (of_activations.empty() ? "" : ", or '" + of_activations + "'");
}

json InfeasibleAnswer::dominant_json() const {
    json out = {{"op", nullptr}, {"tensors", json::array()}};
    if (answer_.op.valid())
        out["op"] = {{"id", answer_.op.value},
                     {"name", graph_.ops[answer_.op].name},
                     {"module", graph_.ops[answer_.op].module}};
    for (const TensorId t : answer_.dominant)
        out["tensors"].push_back(
            {{"id", t.value}, {"name", graph_.tensors[t].name}, {"bytes", graph_.tensors[t].bytes.value}});
    return out;
}

json InfeasibleAnswer::known_to_work_json() const {
    if (!enough_) return nullptr;
    const auto share = [&](Budget::Of of) {
        const std::string text = share_of(*enough_, of, step_);
        return text.empty() ? json(nullptr) : json(text);
    };
    return {{"bytes", enough_->value},
            {"share", share(Budget::Of::peak)},
            {"share_of_activations", share(Budget::Of::activations)}};
}

json InfeasibleAnswer::as_json() const {
    const auto bytes_or_null = [](const std::optional<Bytes>& bytes) {
        return bytes ? json(bytes->value) : json(nullptr);
    };
    return {{"status", "infeasible"},
            {"solver", solver_},
            {"overhead", nullptr},
            {"peak_bytes", nullptr},
            {"budget_bytes", outcome_.budget.value},
            {"bound", nullptr},
            {"gap", nullptr},
            {"bound_seconds", nullptr},
            {"nodes", nullptr},
            {"solve_seconds", outcome_.seconds},
            {"needed_bytes", answer_.needed.value},
            {"missing_bytes", std::max<std::int64_t>(0, (answer_.needed - outcome_.budget).value)},
            {"proven", answer_.proven},
            {"class", to_string(answer_.over)},
            {"reason", answer_.reason.empty() ? json(nullptr) : json(answer_.reason)},
            {"under_pins_bytes", bytes_or_null(answer_.under_pins)},
            {"without_pins_bytes", bytes_or_null(answer_.without_pins)},
            {"smallest_found_bytes", bytes_or_null(answer_.smallest_found)},
            {"works", known_to_work_json()},
            {"dominant", dominant_json()}};
}

}  // namespace rematlas
