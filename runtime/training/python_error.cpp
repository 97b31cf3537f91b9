#include "runtime/training/python_error.h"

#include <dlfcn.h>

namespace rematlas {

/// The library is not linked with Python: programs in C++ use it too.
void clear_python_error() {
    static const auto ensure = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "PyGILState_Ensure"));
    static const auto release = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "PyGILState_Release"));
    static const auto clear = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "PyErr_Clear"));
    if (!ensure || !release || !clear) return;
    const int state = ensure();
    clear();
    release(state);
}

}  // namespace rematlas
