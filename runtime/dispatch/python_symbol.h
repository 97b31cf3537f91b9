// Looks up CPython's functions in the process.
#pragma once

#include <dlfcn.h>

namespace rematlas {

/// Returns the function, or null in a process without Python. The libraries are not linked with Python,
/// because C++ programs use them too.
template <class Function>
Function* python_symbol(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace rematlas
