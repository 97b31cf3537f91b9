#include "runtime/capture/provenance.h"

#include <torch/csrc/jit/runtime/interpreter.h>

#include <string_view>
#include <vector>

namespace rematlas {
namespace {

/// "layer1(Sequential)::forward.0(Bottleneck)::forward" gives "layer1.0". Frames of the root and of plain functions have no name.
std::string path_of(std::string_view frame) {
    std::string path;
    while (!frame.empty()) {
        const std::size_t open = frame.find('(');
        if (open == frame.npos) break;
        const std::string_view name = frame.substr(0, open);
        const bool counts = !name.empty() && name != "TOP" && name != "SELF" && name.find("CALL_FUNCTION") == name.npos;
        if (counts) path += (path.empty() ? "" : ".") + std::string(name);
        const std::size_t method = frame.find("::", open);
        const std::size_t dot = method == frame.npos ? frame.npos : frame.find('.', method);
        if (dot == frame.npos) break;
        frame.remove_prefix(dot + 1);
    }
    return path;
}

}  // namespace

std::string current_module_path() {
    std::string path;
    for (const std::string& frame : torch::jit::currentModuleHierarchy()) {
        const std::string part = path_of(frame);
        if (!part.empty()) path += (path.empty() ? "" : ".") + part;
    }
    return path;
}

std::string current_source_line() {
    const auto frames = torch::jit::currentCallstack();
    for (const auto& frame : frames) {
        // A saved module carries generated code, and with it the places in the Python source that it came from.
        const auto original = frame.range.findSourceRangeThatGenerated();
        if (const auto source = original ? original->file_line_col() : frame.range.file_line_col()) {
            const auto& [file, line, column] = *source;
            return file.substr(file.find_last_of('/') + 1) + ":" + std::to_string(line);
        }
    }
    return {};
}

}  // namespace rematlas
