// What Python raises below compiled code: the handlers of signals (Ctrl-C), and functions of Python that are called back.
// Nothing happens in a process without Python.
#pragma once

#include <cstdint>

#include "core/base/result.h"

namespace rematlas {

/// Takes the error that is set in this thread's interpreter away.
void clear_python_error();

/// A list of Python's, by its address: it takes the exceptions that `raise_python_errors` raises. It stays alive; 0: no longer.
void keep_python_errors_in(std::int64_t list);

/// Lets the handlers of signals that have come run, as Python does between two of its own instructions, and keeps what they
/// raise. Python runs them in its main thread alone; elsewhere nothing happens.
void look_for_signals();

/// Throws the exception that was kept first, if any, so that Python's callers see it as it was raised.
void raise_python_errors();

/// Both, for work that goes on for long: between two calls with less than `signal_interval` between them nothing happens.
void raise_what_signals_raise();
inline constexpr std::int64_t signal_interval = 10'000'000;  ///< nanoseconds

bool is_main_thread();

/// Lays the error that is set in this thread's interpreter aside while it lives: an exception may be on its way up when objects
/// end, and Python code that they call would find it set and fail.
class PythonErrorAside {
  public:
    PythonErrorAside();
    PythonErrorAside(const PythonErrorAside&) = delete;
    PythonErrorAside& operator=(const PythonErrorAside&) = delete;
    ~PythonErrorAside();

  private:
    void *type_ = nullptr, *value_ = nullptr, *trace_ = nullptr;
};

/// As the op itself throws, where one has, so that Python sees an error of the same class (IndexError,
/// torch.OutOfMemoryError, ...): one line, by the name of the op. Else a c10::Error.
[[noreturn]] void throw_as_torch_does(const Error& error);

}  // namespace rematlas
