// The dispatch key that all seeing of ops stands on: just above the kernels and below autograd.
//
// Libtorch 2.11 to 2.15 has no kernel on this key, whose name is meant for fake tensors to come. The key is
// named here and nowhere else; runtime/dispatch/every_op.h answers for all ops on it.
#pragma once

#include <c10/core/DispatchKeySet.h>

namespace rematlas {

inline constexpr c10::DispatchKey own_key = c10::DispatchKey::Fake;

/// What is left of a call's keys behind ours.
inline c10::DispatchKeySet behind_own_key(c10::DispatchKeySet keys) {
    return keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, own_key);
}

}  // namespace rematlas
