// Reads the steps of a training run from the file that `rematlas.apply(..., watch="run.jsonl")` writes: a
// header, and a line of JSON for each finished step. The file grows while training continues.
//
//     RunReader reader("run.jsonl");
//     reader.add(bytes_so_far);       // and again with the bytes that came later
//     const RunSteps& run = reader.run();
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"

namespace rematlas {

/// Who ran a training step. `original` is the user's module, without a plan. The original also ran the steps
/// of three other kinds: `recorded` and `compared` (before a plan took over) and `evicted` (under online
/// eviction). Steps that are `evaluated` are calls without gradients.
enum class StepRunner { plan, original, evicted, recorded, compared, evaluated };
inline constexpr std::size_t kStepRunners = 6;

std::string_view to_string(StepRunner runner);

struct RunStep {
    std::size_t number = 0;  ///< number in the file; greater than the number of the step before
    StepRunner by = StepRunner::original;
    double seconds = 0;  ///< from the start of its forward to the start of the next forward
    Bytes peak = {};     ///< most bytes of all tensors of the process on the device, during the step
    /// The peak that the plan predicts, plus the bytes that other tensors held on the device when the plan
    /// was made.
    std::optional<Bytes> planned_peak = {};
    /// 1.1 means ten percent more time than without recomputation.
    std::optional<double> planned_overhead = {};
    std::string why = {};  ///< reason, if the original ran the step; else empty
};

struct RunSteps {
    std::string model;
    std::optional<Bytes> budget;  ///< absent if the budget is a share of the step
    std::vector<RunStep> steps;   ///< in the order of the file; steps of skipped lines are missing
    std::size_t skipped = 0;      ///< number of lines that could not be read as a step
    /// Error of the last skipped line: "line 7: step is missing"; empty if no line was skipped.
    std::string why_skipped = {};
};

/// Reads a file that may still grow. A line that is not a valid step, because it was cut off or damaged, is
/// skipped. A header after other lines, or at the end of a line that was cut off, starts a new run.
class RunReader {
  public:
    explicit RunReader(std::string name) : name_(std::move(name)) {}

    /// Takes the bytes that follow the bytes of earlier calls. An incomplete last line waits for the rest of
    /// the line. Errors: one line that names the file and what is wrong with the header. After an error
    /// nothing more is read.
    Result<void> add(std::string_view bytes);
    const RunSteps& run() const { return run_; }
    /// Returns the number of headers that were read.
    std::size_t runs() const { return runs_; }
    /// Says whether the header has been read.
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
    std::size_t line_ = 0;      ///< number of lines that were read
    std::size_t runs_ = 0;      ///< number of headers that were read
    bool is_too_long_ = false;  ///< the current line is too long, and its rest has yet to come
    std::optional<Error> failure_;
};

/// Reads a whole file. Fails as `RunReader::add` does, and if the file has no complete first line.
Result<RunSteps> read_run(const std::filesystem::path& path);

}  // namespace rematlas
