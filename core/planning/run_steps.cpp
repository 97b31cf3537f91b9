#include "core/planning/run_steps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/base/files.h"
#include "core/base/json_fields.h"

namespace rematlas {
namespace {

constexpr std::array<std::string_view, kStepRunners> kRunnerNames = {"plan",     "original", "evicted",
                                                                     "recorded", "compared", "evaluated"};
constexpr std::size_t kLongestLine = std::size_t{1} << 20;
constexpr std::int64_t kLastStep = std::int64_t{1} << 53;  // above it, JSON's numbers are no longer exact

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

std::string RunReader::place() const {
    return "line " + std::to_string(line_ + 1);
}

void RunReader::skip(const std::string& why) {
    ++run_.skipped;
    run_.why_skipped = why;
}

void RunReader::read_header(std::string_view text) {
    const Result<nlohmann::json> parsed = parse_json(text, place());
    if (!parsed) throw FieldError{parsed.error().message};
    const Fields told(*parsed, place());
    expect_format(told, "rematlas.steps", 1);
    RunSteps run;
    run.model = told.text("model");
    if (told.has("budget_bytes")) run.budget = bytes_of(told, "budget_bytes");
    run_ = std::move(run);
    ++runs_;
}

void RunReader::read_step(std::string_view text) {
    const Result<nlohmann::json> parsed = parse_json(text, place());
    if (!parsed) throw FieldError{parsed.error().message};
    const Fields told(*parsed, place());
    const std::int64_t next =
        run_.steps.empty() ? 0 : static_cast<std::int64_t>(run_.steps.back().number) + 1;
    const std::int64_t number = told.integer("step");
    if (number < next) told.fail("step is below " + std::to_string(next) + ", which would be the next one");
    if (number > kLastStep) told.fail("step is out of range");
    RunStep step = step_of(told);
    step.number = static_cast<std::size_t>(number);
    run_.steps.push_back(std::move(step));
}

/// Reads the header of a new run if the line contains one. Returns whether it does. The header usually is the
/// whole line. If the previous step was cut off, that step has no line break. The line then begins with the
/// step and ends with the header.
bool RunReader::begins_anew(std::string_view text) {
    const std::size_t format = text.find("\"rematlas.steps\"");
    const std::size_t begin = format == text.npos ? text.npos : text.rfind('{', format);
    if (begin == text.npos) return false;
    try {
        read_header(text.substr(begin));
    } catch (const FieldError&) {
        return false;
    }
    if (begin > 0) skip(place() + ": is cut off, and a run begins anew there");
    return true;
}

void RunReader::read_line(std::string_view text) {
    if (line_ == 0) {
        read_header(text);
    } else if (text.find_first_not_of(" \t\r") != text.npos && !begins_anew(text)) {
        try {
            read_step(text);
        } catch (const FieldError& error) {
            skip(error.message);
        }
    }
    ++line_;
}

Result<void> RunReader::add(std::string_view bytes) {
    if (failure_) return *failure_;
    rest_ += bytes;
    std::size_t begin = 0;
    try {
        for (std::size_t end = rest_.find('\n'); end != rest_.npos; end = rest_.find('\n', begin)) {
            if (std::exchange(is_too_long_, false))
                ++line_;
            else
                read_line(std::string_view(rest_).substr(begin, end - begin));
            begin = end + 1;
        }
        if (rest_.size() - begin > kLongestLine) {
            const std::string why = place() + " is longer than " + std::to_string(kLongestLine) + " bytes";
            if (line_ == 0) throw FieldError{why};
            if (!std::exchange(is_too_long_, true)) skip(why);
            begin = rest_.size();
        }
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
