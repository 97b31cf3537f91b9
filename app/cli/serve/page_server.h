// The page of `rematlas serve` and its calls, behind the gate:
//
//     GET  /?token=...        the page of the report, with a panel to solve in
//     GET  /state?since=N     what changed after revision N (plan_board.h), as soon as something has; without
//                             `since` all of it, at once; "about" says what can be asked (solve_calls.h)
//     GET  /schedule?plan=I   a plan as a .schedule.json file
//     POST /solve, /sweep, /cancel     a question (solve_calls.h): 202 and the job, or an "error"
//
// All but the page are asked with `Authorization: Bearer TOKEN`. There is no other path, and no file is read.
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
    /// `page` was made of `report`, which has a graph; what the report points to outlives the server.
    /// `on_change` is called from any thread, when requests that wait should be asked again. Where the
    /// object ends, the jobs end.
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
    SolveCalls calls_;  ///< ends before the board
    const std::string about_;
};

}  // namespace rematlas
