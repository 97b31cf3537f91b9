#include "runtime/model/torchscript_places.h"

#include <torch/csrc/jit/runtime/interpreter.h>

#include <cstdlib>
#include <string_view>

#include "runtime/model/source_line.h"

namespace rematlas {
namespace {

std::string type_of(const torch::jit::Module& module) {
    return module.type()->name() ? module.type()->name()->name() : std::string();
}

std::string join(const std::string& path, const std::string& name) {
    return path.empty() ? name : path + "." + name;
}

}  // namespace

std::optional<TorchScriptPlaces::Found> TorchScriptPlaces::child_of(const Found& parent, const Frame& frame) {
    std::vector<Found> inside_lists;
    for (const auto& child : parent.module.named_children()) {
        if (child.name == frame.name) return Found{child.value, join(parent.path, child.name)};
        if (child.value.find_method("forward")) continue;
        for (const auto& member : child.value.named_children()) {
            if (member.name != frame.name || type_of(member.value) != frame.type) continue;
            inside_lists.push_back({member.value, join(join(parent.path, child.name), member.name)});
        }
    }
    if (inside_lists.empty()) return std::nullopt;
    if (inside_lists.size() == 1) return inside_lists.front();
    Cursor& cursor = cursors_[parent.path];
    const long index = std::strtol(frame.name.c_str(), nullptr, 10);
    if (index < cursor.index && cursor.list + 1 < inside_lists.size()) ++cursor.list;
    cursor.index = index;
    return inside_lists[std::min(cursor.list, inside_lists.size() - 1)];
}

ModuleName TorchScriptPlaces::resolve(const std::vector<Frame>& frames) {
    Found at{root_, ""};
    std::string class_name = type_of(root_);
    for (const Frame& frame : frames) {
        if (auto child = child_of(at, frame)) {
            at = std::move(*child);
            class_name = type_of(at.module);
        } else {
            at.path = join(at.path, frame.name);
            class_name = frame.type;
        }
    }
    return {at.path, class_name};
}

ModuleName TorchScriptPlaces::module() {
    std::vector<Frame> frames;
    // A frame reads "conv1(Conv2d)::forward". Frames of the root, of calls on self and of plain functions are
    // not modules.
    for (const std::string_view frame : torch::jit::currentModuleHierarchy()) {
        const std::size_t open = frame.find('('), close = frame.find(')', open);
        if (open == frame.npos || close == frame.npos || open == 0) continue;
        const std::string_view name = frame.substr(0, open);
        if (name == "TOP" || name == "SELF" || name.find("CALL_FUNCTION") != name.npos) continue;
        frames.push_back({std::string(name), std::string(frame.substr(open + 1, close - open - 1))});
    }
    return resolve(frames);
}

std::string TorchScriptPlaces::line() {
    std::string innermost;
    for (const auto& frame : torch::jit::currentCallstack()) {
        // A saved module contains generated code. Each range of this code refers to the Python source that it
        // was generated from.
        const auto original = frame.range.findSourceRangeThatGenerated();
        const auto source = original ? original->file_line_col() : frame.range.file_line_col();
        if (!source) continue;
        const auto& [file, line, column] = *source;
        if (file.empty()) continue;  // code made by tracing has no file
        const std::string found = line_text(file, std::to_string(line));
        if (!is_of_torch(file)) return found;
        if (innermost.empty()) innermost = found;
    }
    return innermost;
}

}  // namespace rematlas
