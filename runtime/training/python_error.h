// Exceptions that Python raises below compiled code: in handlers of signals (Ctrl-C), and in functions of
// Python that are called back. In a process without Python these functions do nothing.
#pragma once

#include <cstdint>

#include "core/base/result.h"

namespace rematlas {

/// Clears the error that is set in this thread's interpreter.
void clear_python_error();

/// `list` is the address of a Python list, or 0 for none. Exceptions are kept in the list until
/// `raise_python_errors` throws them. The caller keeps the list alive.
void keep_python_errors_in(std::int64_t list);

/// Runs the handlers of signals that have come, as Python does between two of its own instructions, and
/// keeps the exceptions that they raise. Python runs handlers in its main thread alone; in another thread
/// this function does nothing.
void look_for_signals();

/// Throws the exception that was kept first, if any, so that Python's callers see it as it was raised.
void raise_python_errors();

/// Does both, for work that takes long. Nothing happens if less than `signal_interval` has passed since the
/// last call that looked for signals.
void raise_what_signals_raise();
inline constexpr std::int64_t signal_interval = 10'000'000;  ///< nanoseconds

bool is_main_thread();

/// Lays the error that is set in this thread's interpreter aside while an object of this class lives. An
/// exception may be on its way up while other objects are destroyed, and the Python code that they call
/// would find the error set and fail.
class PythonErrorAside {
  public:
    PythonErrorAside();
    PythonErrorAside(const PythonErrorAside&) = delete;
    PythonErrorAside& operator=(const PythonErrorAside&) = delete;
    ~PythonErrorAside();

  private:
    void *type_ = nullptr, *value_ = nullptr, *trace_ = nullptr;
};

/// Throws the exception class that the op itself threw, if any, so that Python sees an error of the same
/// class (IndexError, torch.OutOfMemoryError, ...). The message is one line that names the op. Without such
/// a class it throws a c10::Error.
[[noreturn]] void throw_as_torch_does(const Error& error);

}  // namespace rematlas
