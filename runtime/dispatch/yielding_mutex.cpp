#include "runtime/dispatch/yielding_mutex.h"

#include "runtime/dispatch/python_symbol.h"

namespace rematlas {
namespace {

/// Functions of CPython's stable interface; all are null in a process without Python.
struct Interpreter {
    int (*is_initialized)();
    int (*holds_lock)();
    void* (*release)();
    void (*take)(void*);
};

const Interpreter* interpreter() {
    static const Interpreter found{
        python_symbol<int()>("Py_IsInitialized"), python_symbol<int()>("PyGILState_Check"),
        python_symbol<void*()>("PyEval_SaveThread"), python_symbol<void(void*)>("PyEval_RestoreThread")};
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
