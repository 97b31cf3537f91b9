// Feeds arbitrary bytes to the reader of DTR logs, which must read them or refuse with one line. A log that
// it reads must not exceed the budget when it is simulated.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/dtr/evict_online.h"
#include "core/dtr/trace_log.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    using namespace rematlas;
    const std::string text(reinterpret_cast<const char*>(bytes), size);
    const Result<Trace> read = parse_trace_log(text, "log");
    if (!read) {
        if (read.error().message.find('\n') != std::string::npos) std::abort();
        return 0;
    }
    const Bytes budget(unbounded_peak(*read).value * 2 / 3);
    for (const DtrDeallocation deallocation :
         {DtrDeallocation::eager, DtrDeallocation::ignore, DtrDeallocation::banish}) {
        // Ops without time may run again very often, so each simulation ends after a bounded number of calls.
        int asked = 0;
        const DtrOutcome outcome = evict_online(*read, budget, {.deallocation = deallocation},
                                                [&](const DtrOutcome&, double) { return ++asked < 1000; });
        if (outcome.peak > budget) std::abort();
    }
    return 0;
}
