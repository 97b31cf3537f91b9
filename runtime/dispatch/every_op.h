// One function that handles every op on Rematlas' dispatch key.
//
// The function is the fallback of the key. The dispatcher accepts only one fallback per key. If another
// library has already registered a fallback on the key, Rematlas registers a kernel for each op instead.
// These kernels pass calls that Rematlas does not handle to the other library's fallback.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace rematlas {

struct AnswerForOps {
    void (*answer)(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);
    /// Says whether Rematlas handles the call. If not, the fallback of the other library handles it. Called
    /// only if another library has a fallback on the key.
    bool (*is_ours)(const c10::OperatorHandle& op, const torch::jit::Stack& stack);
};

/// Registers the functions for the rest of the process. May be called only once.
void answer_for_every_op(const AnswerForOps& functions);

/// Must be called before a mode is put in force. If each op needs its own kernel, gives kernels to the ops
/// that were registered since the last call.
void cover_new_ops();

}  // namespace rematlas
