// Feeds arbitrary bytes to the reader of DTR logs, which must read them or refuse with one line. If it reads
// a log, the simulation of the log must not exceed the budget.
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
        // Ops without time may run again very often, so each simulation stops after 1000 calls of the
        // callback.
        int asked = 0;
        const DtrOutcome outcome = evict_online(*read, budget, {.deallocation = deallocation},
                                                [&](const DtrOutcome&, double) { return ++asked < 1000; });
        if (outcome.peak > budget) std::abort();
    }
    return 0;
}
