// Stacks of calls as they stand in snapshots. Few of them are distinct, and many share their innermost
// calls.
//
//     StackId stack = stacks.child(StackId(), innermost);  // then its caller, and so on outwards
//     stacks.place(stack);                                 // where the user's own code allocated
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/snapshots/text_table.h"

namespace rematlas {

using FrameId = Id<struct CallFrameTag>;
using StackId = Id<struct CallStackTag>;

/// One line of one function.
struct CallFrame {
    TextId file, function;
    std::int64_t line = 0;
    bool operator==(const CallFrame&) const = default;
};

class CallStacks {
  public:
    FrameId frame(const CallFrame& frame, const TextTable& texts);
    /// `stack` with one more caller around it; an invalid id is the stack without calls. Throws
    /// SnapshotFault where there are too many.
    StackId child(StackId stack, FrameId caller);

    const CallFrame& operator[](FrameId id) const { return frames_[id.index()]; }
    bool contains(FrameId id) const { return id.valid() && id.index() < frames_.size(); }
    /// The frames of the stack, from the innermost call outwards.
    std::vector<FrameId> frames(StackId stack) const;
    /// The innermost call in the user's own code; where there is none, the innermost of all. Invalid for
    /// the stack without calls.
    FrameId place(StackId stack) const { return stack.valid() ? nodes_[stack.index()].place : FrameId(); }
    std::size_t size() const { return nodes_.size(); }

  private:
    struct Node {
        StackId inner;
        FrameId caller, place;
    };

    std::vector<CallFrame> frames_;
    std::vector<char> users_;  ///< per frame: whether its file is the user's
    std::vector<Node> nodes_;
    DistinctIndex frame_index_, node_index_;
};

/// Whether a file is the user's: Python code that is neither torch's, nor Rematlas's, nor made by a compiler
/// of torch.
bool is_users_file(std::string_view file);

/// "train.py:12 step": the name of the file without its folders.
std::string place_text(const CallFrame& frame, const TextTable& texts);
/// "/home/me/train.py:12 step"
std::string full_place_text(const CallFrame& frame, const TextTable& texts);

}  // namespace rematlas
