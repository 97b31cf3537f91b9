"""Names that the examples of single headers of viz use without defining them."""

from example_names.declarations import values

NAMES = {
    "viz/block_view/block_view.h": (
        "extern LayoutCache shapes; extern const Decisions decisions;"
        "extern const std::vector<Size> sizes, titles;"
    ),
    "viz/layout/layout_worker.h": "extern const std::vector<LayoutRequest> requests;",
    "viz/paint/measured_bands.h": "extern const MeasuredMemory measured; extern const MeasuredDevice device;",
    "viz/paint/run_painter.h": "extern const RunSteps run; extern const Rect rect;",
    "viz/paint/shaded_columns.h": (
        "extern const Rect row; extern const palette::Paper paper;" + values("left right color")
    ),
    "viz/report/html.h": (
        "extern const std::string name; extern const Bytes bytes; extern const nlohmann::json data;"
    ),
    "viz/report/packed_column.h": "extern nlohmann::json page;",
}
