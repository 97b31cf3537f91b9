"""Names that the examples of single headers of the explorer use without defining them.

An example that contains `this` is a function of the class `Owner`.
"""

from example_names.declarations import values

GRAPH = "extern const GraphPtr graph;"
SCHEDULE = "extern const SchedulePtr schedule;"
OPS = "extern const std::vector<OpId> ops;"

NAMES = {
    "app/explorer/files/plan_journal.h": "extern const PlanRow plan;",
    "app/explorer/jobs/background_job.h": (
        "extern const std::shared_ptr<const Graph> graph; extern BackgroundJob job;"
        "Answer solve(const Graph& graph, std::stop_token stop); struct Owner { Returned example(); };"
    ),
    "app/explorer/jobs/python_survey.h": "extern PythonReader reader; extern const QString python;",
    "app/explorer/jobs/remote_python.h": (
        "extern const RemoteHost host; extern const QString python; extern QProcess process;"
    ),
    "app/explorer/loaded/over_link.h": SCHEDULE,
    "app/explorer/look/shown_range.h": (
        "extern const Rect plot; extern const QWheelEvent* const event;" + values("length x")
    ),
    "app/explorer/look/view_keys.h": (
        "struct Owner : QWidget { Returned example(); void go(int direction); };"
    ),
    "app/explorer/models/alive_now.h": SCHEDULE + values("step"),
    "app/explorer/models/csv_table.h": "extern const QAbstractItemView* const view;",
    "app/explorer/models/lifetime_rows.h": SCHEDULE,
    "app/explorer/models/why.h": SCHEDULE + OPS,
    "app/explorer/session/answer.h": GRAPH
    + "extern const PlanList plans; extern const KnownAnswers known; extern QLabel* const label;",
    "app/explorer/words/capture_progress.h": "extern const QElapsedTimer clock;",
}
