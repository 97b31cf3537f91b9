// What a program does that gets no more memory, or that may not let its files grow.
#pragma once

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>

namespace rematlas {

/// Must be called first in a program, before objects with static lifetime are made. If memory runs out where
/// no function can catch the exception, for example in a thread, the program prints one line and ends with
/// status 2. A file that may not grow (`ulimit -f`) is an error of the call that writes, as on a full disk, and
/// ends no program.
inline void end_with_a_line_at_limits() {
    std::signal(SIGXFSZ, SIG_IGN);
    std::set_terminate([] {
        constexpr std::string_view line = "rematlas: out of memory\n";
        try {
            if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
        } catch (const std::bad_alloc&) {
            if (::write(STDERR_FILENO, line.data(), line.size()) >= 0) std::_Exit(2);
        } catch (...) {
        }
        std::abort();
    });
}

}  // namespace rematlas
