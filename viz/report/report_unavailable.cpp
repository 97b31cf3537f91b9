// Replaces reports in a build without cairo.
#include "viz/report/report.h"

namespace rematlas {

namespace {

Error cannot_report(const std::filesystem::path& path) {
    return Error{path.string() + ": this build cannot draw pictures: it was configured without cairo"};
}

}  // namespace

Result<std::string> report_page(const ReportOf&) {
    return cannot_report("report");
}
Result<void> write_report(const ReportOf&, const std::filesystem::path& path) {
    return cannot_report(path);
}

}  // namespace rematlas
