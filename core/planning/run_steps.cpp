#include "core/planning/run_steps.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/files.h"
#include "core/base/json_fields.h"

namespace rematlas {
namespace {

constexpr std::array<std::string_view, kStepRunners> kRunnerNames = {"plan",     "original", "evicted",
                                                                     "recorded", "compared", "evaluated"};
constexpr std::size_t kLongestLine = std::size_t{1} << 20;

Bytes bytes_of(const Fields& step, const char* key) {
    const std::int64_t bytes = step.integer(key);
    if (bytes < 0) step.fail(std::string(key) + " is negative");
    return Bytes(bytes);
}

double time_of(const Fields& step, const char* key) {
    const double value = step.number(key);
    if (!std::isfinite(value) || value < 0) step.fail(std::string(key) + " is out of range");
    return value;
}

RunStep step_of(const Fields& told) {
    const auto runner = std::find(kRunnerNames.begin(), kRunnerNames.end(), told.text("by"));
    if (runner == kRunnerNames.end()) told.fail("by '" + told.text("by").substr(0, 60) + "' is not known");
    RunStep step{.by = static_cast<StepRunner>(runner - kRunnerNames.begin()),
                 .seconds = time_of(told, "seconds"),
                 .peak = bytes_of(told, "peak_bytes")};
    if (told.has("planned_peak_bytes")) step.planned_peak = bytes_of(told, "planned_peak_bytes");
    if (told.has("overhead")) step.planned_overhead = time_of(told, "overhead");
    step.why = told.text_or("why", "");
    return step;
}

}  // namespace

std::string_view to_string(StepRunner runner) {
    return kRunnerNames[static_cast<std::size_t>(runner)];
}

void RunReader::read_line(std::string_view text) {
    const std::string place = "line " + std::to_string(line_ + 1);
    const Result<nlohmann::json> parsed = parse_json(text, place);
    if (!parsed) throw FieldError{parsed.error().message};
    const Fields told(*parsed, place);
    if (line_ == 0) {
        expect_format(told, "rematlas.steps", 1);
        run_.model = told.text("model");
        if (told.has("budget_bytes")) run_.budget = bytes_of(told, "budget_bytes");
    } else {
        const auto expected = static_cast<std::int64_t>(run_.steps.size());
        if (told.integer("step") != expected)
            told.fail("step is not " + std::to_string(expected) + ", which would be the next one");
        run_.steps.push_back(step_of(told));
    }
    ++line_;
}

Result<void> RunReader::add(std::string_view bytes) {
    if (failure_) return *failure_;
    rest_ += bytes;
    std::size_t begin = 0;
    try {
        for (std::size_t end = rest_.find('\n'); end != rest_.npos; end = rest_.find('\n', begin)) {
            read_line(std::string_view(rest_).substr(begin, end - begin));
            begin = end + 1;
        }
        if (rest_.size() - begin > kLongestLine)
            throw FieldError{"line " + std::to_string(line_ + 1) + " is longer than " +
                             std::to_string(kLongestLine) + " bytes"};
    } catch (const FieldError& error) {
        failure_ = Error{name_ + ": " + error.message};
        rest_.clear();
        return *failure_;
    }
    rest_.erase(0, begin);
    return {};
}

Result<RunSteps> read_run(const std::filesystem::path& path) {
    const Result<std::string> text = read_file(path);
    if (!text) return text.error();
    RunReader reader(path.string());
    if (const Result<void> added = reader.add(*text); !added) return added.error();
    if (!reader.has_begun()) return Error{path.string() + ": has no complete first line"};
    return reader.run();
}

}  // namespace rematlas
