#include "runtime/dispatch/yielding_mutex.h"

#include <dlfcn.h>

namespace rematlas {
namespace {

/// What CPython's stable interface offers. The process is asked for it, so that programs without Python need no
/// Python library.
struct Interpreter {
    int (*is_initialized)();
    int (*holds_lock)();
    void* (*release)();
    void (*take)(void*);
};

template <class Function>
Function symbol(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

const Interpreter* interpreter() {
    static const Interpreter found{
        symbol<int (*)()>("Py_IsInitialized"), symbol<int (*)()>("PyGILState_Check"),
        symbol<void* (*)()>("PyEval_SaveThread"), symbol<void (*)(void*)>("PyEval_RestoreThread")};
    const bool complete = found.is_initialized && found.holds_lock && found.release && found.take;
    return complete && found.is_initialized() ? &found : nullptr;
}

}  // namespace

InterpreterReleased::InterpreterReleased()
    : thread_state_(interpreter() && interpreter()->holds_lock() ? interpreter()->release() : nullptr) {}

InterpreterReleased::~InterpreterReleased() {
    if (thread_state_) interpreter()->take(thread_state_);
}

}  // namespace rematlas
