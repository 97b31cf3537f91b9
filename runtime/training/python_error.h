// Exceptions that Python raises below compiled code: in handlers of signals (Ctrl-C), and in Python functions
// that are called back. In a process without Python these functions do nothing.
#pragma once

#include <c10/util/Exception.h>

#include <cstdint>
#include <type_traits>

#include "core/base/result.h"

namespace rematlas {

/// Clears the error that is set in this thread's interpreter.
void clear_python_error();

/// Sets the Python list in which exceptions are kept until `raise_python_errors` throws them. `list` is the
/// address of the list, or 0 for none. The caller must keep the list alive.
void keep_python_errors_in(std::int64_t list);

/// Runs the handlers of pending signals, as Python does between two of its own instructions, and keeps the
/// exceptions that they raise. Python runs handlers only in its main thread; in another thread this function
/// does nothing.
void look_for_signals();

/// Throws the first exception that was kept, if any. Callers in Python see it as it was raised.
void raise_python_errors();

/// Calls `look_for_signals` and `raise_python_errors`, for work that takes long. Does nothing outside
/// of the main thread, or if less than `signal_interval` has passed since the last call that looked for
/// signals.
void raise_what_signals_raise();
inline constexpr std::int64_t signal_interval = 10'000'000;  ///< nanoseconds

bool is_main_thread();

/// Sets aside the error of this thread's interpreter while an object of this class lives. Needed for Python
/// code that a destructor calls while an exception propagates: the code would find the error set, and fail.
class PythonErrorAside {
  public:
    PythonErrorAside();
    PythonErrorAside(const PythonErrorAside&) = delete;
    PythonErrorAside& operator=(const PythonErrorAside&) = delete;
    ~PythonErrorAside();

  private:
    void *type_ = nullptr, *value_ = nullptr, *trace_ = nullptr;
};

/// Throws an exception of the class that the op itself threw, so that Python sees an error of the same class
/// (IndexError, torch.OutOfMemoryError, ...). If there is no such class, throws a c10::Error. The message is
/// one line that names the op.
[[noreturn]] void throw_as_torch_does(const Error& error);

/// Returns the value. Throws the error as a c10::Error.
template <class T>
T or_throw(Result<T> result) {
    TORCH_CHECK(result, "rematlas: ", result.error().message);
    if constexpr (!std::is_void_v<T>) return result.take();
}

}  // namespace rematlas
