#include "app/cli/infeasible_answer.h"

#include <algorithm>
#include <cstdio>

#include "core/bounds/least_footprint.h"
#include "core/planning/request.h"

namespace rematlas {

using nlohmann::json;

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
    print_reason();
    print_help_of_copies();
    if (answer_.op.valid())
        std::printf("most is needed at op %d, %s %s:\n", answer_.op.value,
                    graph_.ops[answer_.op].name.c_str(), graph_.ops[answer_.op].module.c_str());
    for (std::size_t i = 0; i < answer_.dominant.size() && i < 5; ++i) {
        const Tensor& tensor = graph_.tensors[answer_.dominant[i]];
        std::printf("  %12s  %s\n", format_bytes(tensor.bytes).c_str(), tensor.name.c_str());
    }
}

void InfeasibleAnswer::print_reason() const {
    const std::string works = known_to_work();
    const Bytes budget = outcome_.budget;
    if (answer_.proven) {
        const bool of_host = asked_ != Offload::none && !answer_.reason.empty();
        std::fprintf(stderr,
                     "rematlas: infeasible: the budget is %s (%lld bytes); every schedule needs at least %s "
                     "(%lld bytes)%s, %s more%s\n",
                     format_bytes(budget).c_str(), static_cast<long long>(budget.value),
                     format_bytes(answer_.needed).c_str(), static_cast<long long>(answer_.needed.value),
                     of_host ? (" " + answer_.reason).c_str() : "",
                     format_bytes(answer_.needed - budget).c_str(), works.c_str());
    } else {
        std::string found =
            answer_.smallest_found ? ", its smallest is " + format_bytes(*answer_.smallest_found) : "";
        if (!answer_.reason.empty()) found += " (" + answer_.reason + ")";
        std::fprintf(stderr,
                     "rematlas: infeasible: %s found no schedule within %s%s; none can need less than %s%s\n",
                     solver_.c_str(), format_bytes(budget).c_str(), found.c_str(),
                     format_bytes(answer_.needed).c_str(), works.c_str());
    }
    if (answer_.under_pins && answer_.without_pins)
        std::fprintf(stderr,
                     "rematlas: this is under the pins; under them %s (%lld bytes) is known to be enough, "
                     "without them %s\n",
                     format_bytes(*answer_.under_pins).c_str(),
                     static_cast<long long>(answer_.under_pins->value),
                     format_bytes(*answer_.without_pins).c_str());
}

void InfeasibleAnswer::print_help_of_copies() const {
    if (moves_weights(asked_) || !graph_.device || graph_.device->links == Links{}) return;
    const Bytes least = least_footprint(graph_, with_results_from_host(graph_, flat_)).bytes;
    if (least > outcome_.budget) return;
    std::int64_t states = 0;
    for (const Tensor& tensor : graph_.tensors)
        if (tensor.kind == TensorKind::optimizer_state || tensor.kind == TensorKind::parameter)
            states += tensor.bytes.value;
    std::fprintf(
        stderr,
        "rematlas: %s of parameters and optimizer states may live on the host with --offload all; every "
        "schedule needs at least %s of the device then\n",
        format_bytes(Bytes(states)).c_str(), format_bytes(least).c_str());
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
    for (const TensorId t : answer_.dominant) {
        if (out["tensors"].size() == 10) break;
        out["tensors"].push_back(
            {{"id", t.value}, {"name", graph_.tensors[t].name}, {"bytes", graph_.tensors[t].bytes.value}});
    }
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
            {"reason", answer_.reason.empty() ? json(nullptr) : json(answer_.reason)},
            {"under_pins_bytes", bytes_or_null(answer_.under_pins)},
            {"without_pins_bytes", bytes_or_null(answer_.without_pins)},
            {"smallest_found_bytes", bytes_or_null(answer_.smallest_found)},
            {"works", known_to_work_json()},
            {"dominant", dominant_json()}};
}

}  // namespace rematlas
