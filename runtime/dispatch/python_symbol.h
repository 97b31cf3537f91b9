// Looks CPython's functions up in the process.
#pragma once

#include <dlfcn.h>

namespace rematlas {

/// Returns the function, or null in a process without Python. Programs in C++ use these libraries too, so
/// that the libraries are not linked with Python.
template <class Function>
Function* python_symbol(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace rematlas
