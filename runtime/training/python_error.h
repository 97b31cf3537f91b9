#pragma once

namespace rematlas {

/// Takes the error that is set in this thread's interpreter away. Nothing happens in a process without
/// Python.
void clear_python_error();

}  // namespace rematlas
