// One function that answers for every op on our dispatch key.
//
// The function is the key's fallback, which a dispatcher takes once. Where another library has registered a
// fallback on the key already, each op gets a kernel instead, which hands calls that are not ours on to that
// fallback.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace rematlas {

struct AnswerForOps {
    void (*answer)(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);
    /// Whether the call is to be answered, where somebody else could.
    bool (*is_ours)(const c10::OperatorHandle& op, const torch::jit::Stack& stack);
};

/// For the rest of the process, in which it is called once.
void answer_for_every_op(const AnswerForOps& functions);

/// Before ops are seen: those that were registered since the last call are answered for, too.
void cover_new_ops();

}  // namespace rematlas
