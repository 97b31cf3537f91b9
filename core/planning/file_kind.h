// What a file is that people name: one of ours, a model, or what torch measured.
#pragma once

#include <filesystem>

namespace rematlas {

/// `measurement`: a memory snapshot by torch.cuda.memory, or a trace by torch.profiler. `run`: the steps of a
/// training run.
enum class FileKind { model, graph, schedule, plan, sweep, fits, run, measurement, unknown };

/// By the "format" field near the start of the file, whatever its name; where there is none, such as in a file that is
/// missing or is no text, by the ending of its name, in capitals or not.
FileKind file_kind(const std::filesystem::path& path);

/// Whether the file is to be read as one that torch measured: a measurement, or by its name a pickle of which
/// `file_kind` knows nothing. The reader of measurements tells what is wrong with such a pickle.
bool is_read_as_measurement(const std::filesystem::path& path);

}  // namespace rematlas
