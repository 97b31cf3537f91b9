// The clock of benches: what this thread has had of a processor, which others on the machine disturb little.
#pragma once

#include <ctime>

namespace rematlas {

inline double cpu_seconds() {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace rematlas
