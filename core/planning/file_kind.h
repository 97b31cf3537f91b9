// Finds out what kind of file a user has named: a file of Rematlas, a model, or a measurement by torch.
#pragma once

#include <filesystem>

namespace rematlas {

/// `measurement`: a memory snapshot by torch.cuda.memory, or a trace by torch.profiler. `run`: the steps of a
/// training run.
enum class FileKind { model, graph, schedule, plan, sweep, fits, run, measurement, unknown };

/// Returns the kind by the start of the file, whatever the file's name is: by the "format" field, or by the
/// fields of a measurement. If neither is there, or if the file is empty or does not exist, returns the kind
/// by the ending of the name, in upper or lower case.
FileKind file_kind(const std::filesystem::path& path);

/// Says whether the file should be read as a measurement by torch. This is also true for a file of unknown
/// kind whose name says that it is a pickle; the reader of measurements then reports what is wrong with it.
bool is_read_as_measurement(const std::filesystem::path& path);

}  // namespace rematlas
