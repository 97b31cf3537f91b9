#include "core/snapshots/call_stacks.h"

#include <algorithm>

#include "core/snapshots/byte_stream.h"

namespace rematlas {
namespace {

constexpr std::size_t kMostFrames = std::size_t{1} << 26;
constexpr std::size_t kMostNodes = std::size_t{1} << 26;

}  // namespace

bool is_users_file(std::string_view file) {
    if (file.starts_with("<ipython-input") || file == "<stdin>" || file == "<string>") return true;
    if (!file.ends_with(".py")) return false;
    for (const std::string_view other : {"-packages/torch/", "/pytorch/torch/", "/torchinductor_",
                                         "-packages/rematlas/", "<frozen ", "<eval_with_key>"})
        if (file.find(other) != std::string_view::npos) return false;
    return !file.starts_with("torch/");
}

FrameId CallStacks::frame(const CallFrame& frame, const TextTable& texts) {
    const std::size_t next = frames_.size();
    if (next >= kMostFrames)
        throw SnapshotFault{"the file holds more distinct frames than fit in this reader"};
    const std::uint64_t hash =
        mixed(mixed(static_cast<std::uint64_t>(frame.line) ^ mixed(frame.file.index())) ^
              (std::uint64_t{frame.function.index()} << 32));
    const std::uint32_t found = frame_index_.find_or_add(
        hash, static_cast<std::uint32_t>(next), [&](auto number) { return frames_[number] == frame; });
    if (found == next) {
        frames_.push_back(frame);
        users_.push_back(is_users_file(texts[frame.file]));
    }
    return FrameId(found);
}

StackId CallStacks::child(StackId stack, FrameId caller) {
    const std::size_t next = nodes_.size();
    if (next >= kMostNodes)
        throw SnapshotFault{"the file holds more distinct stacks than fit in this reader"};
    const std::uint64_t pair = std::uint64_t{static_cast<std::uint32_t>(stack.value)} << 32 |
                               static_cast<std::uint32_t>(caller.value);
    const std::uint32_t found = node_index_.find_or_add(
        mixed(pair), static_cast<std::uint32_t>(next),
        [&](auto number) { return nodes_[number].inner == stack && nodes_[number].caller == caller; });
    if (found != next) return StackId(found);
    const FrameId known = place(stack);
    const bool settled = known.valid() && users_[known.index()];
    const FrameId innermost = known.valid() ? known : caller;
    nodes_.push_back({stack, caller, !settled && users_[caller.index()] ? caller : innermost});
    return StackId(found);
}

std::vector<FrameId> CallStacks::frames(StackId stack) const {
    std::vector<FrameId> all;
    for (; stack.valid(); stack = nodes_[stack.index()].inner) all.push_back(nodes_[stack.index()].caller);
    std::reverse(all.begin(), all.end());
    return all;
}

std::string place_text(const CallFrame& frame, const TextTable& texts) {
    const std::string_view file = texts[frame.file];
    const std::string_view name = file.substr(file.rfind('/') + 1);  // npos + 1 is 0
    return std::string(name) + ":" + std::to_string(frame.line) + " " + std::string(texts[frame.function]);
}

std::string full_place_text(const CallFrame& frame, const TextTable& texts) {
    return std::string(texts[frame.file]) + ":" + std::to_string(frame.line) + " " +
           std::string(texts[frame.function]);
}

}  // namespace rematlas
