// The steps of a training run, as `rematlas.apply(..., watch="run.jsonl")` tells them: a header and a line of
// JSON for each step that is over. The file grows while training goes on.
//
//     RunReader reader("run.jsonl");
//     reader.add(bytes_so_far);       // and again with what has come since
//     const RunSteps& run = reader.run();
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"

namespace rematlas {

/// Who ran a step. `recorded` and `compared` steps are the original's, on the way to a plan; `evaluated` ones
/// are calls without gradients.
enum class StepRunner { plan, original, evicted, recorded, compared, evaluated };
inline constexpr std::size_t kStepRunners = 6;

std::string_view to_string(StepRunner runner);

struct RunStep {
    std::size_t number = 0;  ///< as the file tells it: above the one before
    StepRunner by = StepRunner::original;
    double seconds = 0;                      ///< from its forward to the next one
    Bytes peak = {};                         ///< of all tensors of the process on the device in that time
    std::optional<Bytes> planned_peak = {};  ///< with what lived beside the step when it was planned
    std::optional<double> planned_overhead = {};  ///< 1.1 is ten percent more time than without recomputation
    std::string why = {};                         ///< the original ran the step
};

struct RunSteps {
    std::string model;
    std::optional<Bytes> budget;  ///< nothing: a share of the step
    std::vector<RunStep> steps;   ///< in their order; those of skipped lines are missing
    std::size_t skipped = 0;      ///< lines that tell no step
    std::string why_skipped;      ///< the last of them: "line 7: step is missing"; empty: there was none
};

/// Reads a file that may still grow. A line that tells no step, cut off or damaged, is skipped. A header
/// behind other lines, or at the end of a line that was cut off, begins the run anew.
class RunReader {
  public:
    explicit RunReader(std::string name) : name_(std::move(name)) {}

    /// Takes the bytes behind those of earlier calls. A last line that is not complete waits for its rest.
    /// Errors: one line that names the file and what is wrong with the header; nothing is read from then on.
    Result<void> add(std::string_view bytes);
    const RunSteps& run() const { return run_; }
    /// Headers that were read.
    std::size_t runs() const { return runs_; }
    /// Whether the header has been read.
    bool has_begun() const { return line_ > 0; }

  private:
    void read_line(std::string_view text);
    void read_header(std::string_view text);
    void read_step(std::string_view text);
    bool begins_anew(std::string_view text);
    void skip(const std::string& why);
    std::string place() const;

    std::string name_, rest_;
    RunSteps run_;
    std::size_t line_ = 0;      ///< lines that were read
    std::size_t runs_ = 0;      ///< headers
    bool is_too_long_ = false;  ///< the line of which the rest is still to come
    std::optional<Error> failure_;
};

/// Errors: as of RunReader, and a file without a header.
Result<RunSteps> read_run(const std::filesystem::path& path);

}  // namespace rematlas
