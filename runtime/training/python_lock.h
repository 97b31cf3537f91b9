// The lock of Python's interpreter, and what all that calls into the interpreter needs of it.
#pragma once

#include "runtime/dispatch/python_symbol.h"

namespace rematlas {

/// Functions of CPython's stable interface; an object is a `void*`.
struct PythonBasics {
    int (*lock)() = python_symbol<int()>("PyGILState_Ensure");
    void (*unlock)(int) = python_symbol<void(int)>("PyGILState_Release");
    void (*clear_error)() = python_symbol<void()>("PyErr_Clear");
    void (*drop)(void*) = python_symbol<void(void*)>("Py_DecRef");

    /// False in a process without Python.
    bool are_there() const { return lock && unlock && clear_error && drop; }
};

inline const PythonBasics& python_basics() {
    static const PythonBasics basics;
    return basics;
}

/// Holds the lock while an object of this class lives. There must be a Python.
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
