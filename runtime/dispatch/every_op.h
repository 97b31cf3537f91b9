// One function that answers for every op on Rematlas' dispatch key.
//
// The function is the fallback of the key; a dispatcher accepts one fallback per key. If another library
// has registered a fallback on the key already, each op gets a kernel instead, which hands calls that are
// not Rematlas' on to that fallback.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace rematlas {

struct AnswerForOps {
    void (*answer)(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);
    /// Whether Rematlas answers the call; asked only if another fallback could answer it.
    bool (*is_ours)(const c10::OperatorHandle& op, const torch::jit::Stack& stack);
};

/// Registers the functions for the rest of the process. To be called once.
void answer_for_every_op(const AnswerForOps& functions);

/// To be called before ops are seen. Also covers the ops that were registered since the last call.
void cover_new_ops();

}  // namespace rematlas
