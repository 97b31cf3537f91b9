// The lock of Python's interpreter, and the functions that every call into the interpreter needs.
#pragma once

#include "runtime/dispatch/python_symbol.h"

namespace rematlas {

/// Functions of CPython's stable interface; an object is a `void*`.
struct PythonBasics {
    int (*lock)() = python_symbol<int()>("PyGILState_Ensure");
    void (*unlock)(int) = python_symbol<void(int)>("PyGILState_Release");
    void (*clear_error)() = python_symbol<void()>("PyErr_Clear");
    void (*drop)(void*) = python_symbol<void(void*)>("Py_DecRef");

    /// Says whether the functions exist. They do not exist in a process without Python.
    bool are_there() const { return lock && unlock && clear_error && drop; }
};

inline const PythonBasics& python_basics() {
    static const PythonBasics basics;
    return basics;
}

/// Holds the interpreter's lock while an object of this class lives. May only be used if the process has a
/// Python.
class PythonLock {
  public:
    PythonLock() : state_(python_basics().lock()) {}
    PythonLock(const PythonLock&) = delete;
    PythonLock& operator=(const PythonLock&) = delete;
    ~PythonLock() { python_basics().unlock(state_); }

  private:
    int state_;
};

}  // namespace rematlas
