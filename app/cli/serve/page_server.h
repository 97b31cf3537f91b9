// Answers the requests to `rematlas serve` that the request gate (request_gate.h) has admitted: requests for
// the page, and calls from the page.
//
//     GET  /?token=...        the page of the report, with a panel to solve in
//     GET  /state?since=N     the changes after revision N (plan_board.h), sent when there are any, or after
//                             20 seconds
//     GET  /state             the whole state, sent at once
//     GET  /schedule?plan=I   a plan as a .schedule.json file
//     POST /solve, /sweep, /cancel     answered with status 202 and the job, or with an "error"
//
// The answers to /state also have "about": the values that the fields of /solve and /sweep can have. These
// fields are described in solve_calls.h. All requests except the request for the page need `Authorization:
// Bearer TOKEN`. There are no other paths, and no files are read.
#pragma once

#include <functional>
#include <string>

#include "app/cli/serve/http_server.h"
#include "app/cli/serve/plan_board.h"
#include "app/cli/serve/solve_calls.h"
#include "viz/report/report.h"

namespace rematlas {

class PageServer : public HttpHandler {
  public:
    /// `page` must have been made from `report`. The report must have a graph, and the objects to which it
    /// points must outlive the server. `on_change` is called, from any thread, when the HTTP server should
    /// ask again for the answers to waiting requests. The destructor ends the jobs.
    PageServer(const ReportOf& report, std::string page, std::string token, std::size_t processors,
               std::function<void()> on_change);

    std::optional<HttpAnswer> refuse(const RequestHead& head) override;
    std::optional<HttpAnswer> answer(const RequestHead& head, const std::string& body, bool must) override;

  private:
    std::optional<HttpAnswer> state(const AdmittedRequest& request, bool must) const;
    HttpAnswer schedule(const AdmittedRequest& request) const;
    HttpAnswer call(ServedCall call, const std::string& body);

    const RequestGate gate_;
    const std::string page_;
    PlanBoard board_;
    SolveCalls calls_;  ///< destroyed before the board
    const std::string about_;
};

}  // namespace rematlas
