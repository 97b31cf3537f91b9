#include "core/planning/file_kind.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <string>
#include <utility>

namespace rematlas {
namespace {

constexpr std::size_t kLooksAt = 4096;  ///< bytes that are read at the start of a file

std::string start_of(const std::filesystem::path& path) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored))
        return {};  // a pipe is not read, because that
                    // could wait for ever
    std::ifstream file(path, std::ios::binary);
    std::string start(kLooksAt, '\0');
    file.read(start.data(), static_cast<std::streamsize>(start.size()));
    start.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
    return start;
}

bool has(const std::string& start, const char* word) {
    return start.find(word) != std::string::npos;
}

/// Says whether the file begins as a pickle with the fields of a memory snapshot, or as a Chrome trace. Old
/// files of torch.save are pickles, too, but their first value is a number.
bool is_measurement(const std::string& start) {
    constexpr char kPickle = '\x80', kSaved = '\x8a';
    if (start.size() > 2 && start[0] == kPickle && start[2] != kSaved)
        return has(start, "segments") || has(start, "device_traces") || has(start, "total_size");
    return has(start, "\"traceEvents\"") ||
           (has(start, "\"schemaVersion\"") && has(start, "\"deviceProperties\""));
}

/// Returns the name of the file in lower case.
std::string name_of(const std::filesystem::path& path) {
    std::string name = path.filename().string();
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return name;
}

}  // namespace

FileKind file_kind(const std::filesystem::path& path) {
    const std::string start = start_of(path);
    const std::pair<const char*, FileKind> formats[] = {
        {"\"rematlas.plan\"", FileKind::plan},   {"\"rematlas.schedule\"", FileKind::schedule},
        {"\"rematlas.sweep\"", FileKind::sweep}, {"\"rematlas.fits\"", FileKind::fits},
        {"\"rematlas.steps\"", FileKind::run},   {"\"rematlas.graph\"", FileKind::graph}};
    for (const auto& [format, kind] : formats)
        if (has(start, format)) return kind;
    if (is_measurement(start)) return FileKind::measurement;
    // A writer that sorts its keys may put "format" behind a long list. Then the name of the file decides.
    const std::string name = name_of(path);
    const std::pair<const char*, FileKind> endings[] = {
        {".graph.json", FileKind::graph}, {".schedule.json", FileKind::schedule},
        {".sweep.json", FileKind::sweep}, {".fits.json", FileKind::fits},
        {".plan", FileKind::plan},        {".pt", FileKind::model},
        {".pth", FileKind::model},        {".pt2", FileKind::model},
        {".torchscript", FileKind::model}};
    for (const auto& [ending, kind] : endings)
        if (name.ends_with(ending)) return kind;
    // The file of a training run may still be empty, so its name is enough.
    std::error_code ignored;
    if (name.ends_with(".jsonl") && start.empty() && std::filesystem::is_regular_file(path, ignored))
        return FileKind::run;
    return FileKind::unknown;
}

bool is_read_as_measurement(const std::filesystem::path& path) {
    const FileKind kind = file_kind(path);
    const std::string name = name_of(path);
    return kind == FileKind::measurement ||
           (kind == FileKind::unknown && (name.ends_with(".pickle") || name.ends_with(".pkl")));
}

}  // namespace rematlas
