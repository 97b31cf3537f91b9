// How a program ends when memory runs out, how it treats the limit on the size of files, and how its threads
// share free memory.
#pragma once

#include <malloc.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>

namespace rematlas {

/// Must be called first in a program, before objects with static lifetime are made. If memory runs out where
/// no function can catch the exception, for example in a thread, the program prints one line and ends with
/// status 2. A write that would exceed the limit on the size of files (`ulimit -f`) fails, as on a full disk,
/// and no signal ends the program.
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

/// For programs that run for hours and start a thread for each job: lets all threads share two arenas of the
/// C library's allocator. By default, there are up to eight arenas for each processor. Memory that is free in
/// one arena cannot be used by threads with another arena, so the memory of the process grows.
inline void share_free_memory_between_threads() {
    ::mallopt(M_ARENA_MAX, 2);
}

}  // namespace rematlas
