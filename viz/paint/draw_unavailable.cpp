// Replaces pictures in a build without cairo.
#include "viz/paint/draw.h"

namespace rematlas {

namespace {

Error no_cairo(const std::filesystem::path& path) {
    return Error{path.string() + ": this build cannot draw pictures: it was configured without cairo"};
}

}  // namespace

bool can_draw_pictures() {
    return false;
}

Result<void> check_picture_path(const std::filesystem::path& path) {
    return no_cairo(path);
}
Result<void> draw_graph_file(const Graph&, const Schedule*, const std::filesystem::path& path,
                             std::optional<int>) {
    return no_cairo(path);
}
Result<void> draw_view_file(const Graph&, const Schedule*, const BlockView&, const Layout&,
                            const std::filesystem::path& path) {
    return no_cairo(path);
}
Result<void> draw_schedule_file(const Graph&, const Schedule&, const std::filesystem::path& path) {
    return no_cairo(path);
}
Result<void> draw_flame_file(const Graph&, const Schedule*, const std::filesystem::path& path) {
    return no_cairo(path);
}
Result<void> draw_comparison_file(const Graph&, const Schedule&, const Schedule&,
                                  const std::filesystem::path& path) {
    return no_cairo(path);
}
Result<void> draw_fits_file(const FitsAnswer&, const std::filesystem::path& path) {
    return no_cairo(path);
}
Result<void> draw_sweep_file(const Sweep&, const std::filesystem::path& path, const Graph*) {
    return no_cairo(path);
}

}  // namespace rematlas
