#include "app/cli/serve/page_server.h"

#include <nlohmann/json.hpp>

#include "core/base/files.h"
#include "core/base/numbers.h"
#include "core/schedule/schedule_file.h"

namespace rematlas {

using nlohmann::json;

namespace {

constexpr const char* json_type = "application/json";

std::string text_of(const json& object) {
    return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

HttpAnswer told_error(int status, const std::string& message) {
    return {.status = status, .type = json_type, .body = text_of({{"error", message}})};
}

int status_of(ErrorKind kind) {
    switch (kind) {
        case ErrorKind::input:
            return 400;
        case ErrorKind::negative:
            return 409;
        case ErrorKind::failure:
            break;
    }
    return 500;
}

/// Returns a number from the query; nullopt if the query has no such entry or the entry is not an integer.
template <class Number>
std::optional<Number> number_in(const AdmittedRequest& request, std::string_view name) {
    const auto entry = request.query.find(name);
    return entry == request.query.end() ? std::nullopt : number_from<Number>(entry->second);
}

}  // namespace

PageServer::PageServer(const ReportOf& report, std::string page, std::string token, std::size_t processors,
                       std::function<void()> on_change)
    : gate_(std::move(token)),
      page_(std::move(page)),
      board_(report, std::move(on_change)),
      calls_(*report.graph, board_, processors),
      about_(text_of(calls_.about())) {}

std::optional<HttpAnswer> PageServer::refuse(const RequestHead& head) {
    const auto admitted = gate_.admit(head);
    const auto* refused = std::get_if<RefusedRequest>(&admitted);
    if (!refused) return std::nullopt;
    return HttpAnswer{
        .status = refused->status, .type = "text/plain; charset=utf-8", .body = refused->why + "\n"};
}

std::optional<HttpAnswer> PageServer::answer(const RequestHead& head, const std::string& body, bool must) {
    const auto admitted = gate_.admit(head);
    const auto* request = std::get_if<AdmittedRequest>(&admitted);
    if (!request) return refuse(head);
    switch (request->call) {
        case ServedCall::page:
            // The page itself contains the policy for its scripts.
            return HttpAnswer{.type = "text/html; charset=utf-8",
                              .body = page_,
                              .policy = "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"};
        case ServedCall::state:
            return state(*request, must);
        case ServedCall::schedule:
            return schedule(*request);
        case ServedCall::solve:
        case ServedCall::sweep:
        case ServedCall::cancel:
            break;
    }
    return call(request->call, body);
}

std::optional<HttpAnswer> PageServer::state(const AdmittedRequest& request, bool must) const {
    const auto since = number_in<std::uint64_t>(request, "since");
    if (since && *since >= board_.revision() && !must) return std::nullopt;
    std::string body = "{\"about\":" + about_ + ",";
    body += board_.changes_since(since.value_or(0)).substr(1);
    return HttpAnswer{.type = json_type, .body = std::move(body)};
}

HttpAnswer PageServer::schedule(const AdmittedRequest& request) const {
    const int index = number_in<int>(request, "plan").value_or(-1);
    const std::optional<Schedule> found = board_.plan(index);
    if (!found) return told_error(404, "There is no such plan here: ask for one of /state, by its index.");
    return {.type = json_type,
            .body = schedule_text(*found),
            .file_name = "plan-" + std::to_string(index) + ".schedule.json"};
}

HttpAnswer PageServer::call(ServedCall call, const std::string& body) {
    const Result<json> asked = parse_json(body, "The question");
    if (!asked) return told_error(400, asked.error().message);
    const Result<json> answer = call == ServedCall::solve   ? calls_.solve(*asked)
                                : call == ServedCall::sweep ? calls_.sweep(*asked)
                                                            : calls_.cancel(*asked);
    if (!answer) return told_error(status_of(answer.error().kind), answer.error().message);
    return {.status = 202, .type = json_type, .body = text_of(*answer)};
}

}  // namespace rematlas
