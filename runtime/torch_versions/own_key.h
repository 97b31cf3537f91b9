// The dispatch key on which Rematlas sees ops: just above the kernels and below autograd.
//
// libtorch 2.11 to 2.15 has no kernel for this key, whose name is reserved for future fake tensors. Only this
// file names the key; runtime/dispatch/every_op.h handles all ops on it.
#pragma once

#include <c10/core/DispatchKeySet.h>

namespace rematlas {

inline constexpr c10::DispatchKey own_key = c10::DispatchKey::Fake;

/// Returns the keys of a call that come after `own_key`.
inline c10::DispatchKeySet behind_own_key(c10::DispatchKeySet keys) {
    return keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, own_key);
}

}  // namespace rematlas
