#include "runtime/training/python_places.h"

#include <torch/csrc/profiler/combined_traceback.h>

namespace rematlas {
namespace {

bool is_model_source(const std::string& file) {
    return file.find("/torch/") == file.npos && file.find("/rematlas/") == file.npos &&
           !file.starts_with('<');
}

}  // namespace

std::string PythonPlaces::line() {
    const auto traceback = torch::CapturedTraceback::gather(/*python=*/true, /*script=*/false, /*cpp=*/false);
    if (!traceback) return {};
    const torch::SymbolizedTracebacks symbols = torch::symbolize({traceback.get()});
    for (const std::uint64_t index : symbols.tracebacks.front()) {
        const auto& frame = symbols.all_frames[index];
        if (is_model_source(frame.filename))
            return frame.filename.substr(frame.filename.find_last_of('/') + 1) + ":" +
                   std::to_string(frame.lineno);
    }
    return {};
}

}  // namespace rematlas
