"""Names that examples of single headers of app use without defining them. explorer.py has those of the
explorer."""

from example_names.declarations import values

NAMES = {
    "app/cli/reported_files.h": (
        "extern const std::string graph_path; extern const std::vector<std::string> paths;"
    ),
    "app/cli/serve/http_server.h": "extern HttpHandler& handler;" + values("end"),
    "app/cli/serve/job_queue.h": "template <class T> void solve(const T& question, std::stop_token stop);",
    "app/cli/serve/plan_board.h": "extern const ReportOf report; extern HttpServer& server;",
    "app/cli/serve/solve_calls.h": "extern PlanBoard board;" + values("processors"),
}
