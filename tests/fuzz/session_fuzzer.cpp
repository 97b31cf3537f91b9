// Feeds arbitrary bytes to the reader of session files. `compacted` leaves out damaged lines and lines that
// no longer count. Its result must have the same plans, and must not change if it is compacted again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "app/explorer/files/journal_file.h"
#include "app/explorer/files/plan_journal.h"
#include "tests/app/explorer/same_plans.h"

using namespace rematlas::explorer;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(bytes), size);
    const std::string shorter = compacted(text);
    if (compacted(shorter) != shorter) std::abort();
    for (const char letter : {'a', 'b'}) {
        const std::string graph(64, letter);
        if (!same_plans(plans_in_journal(text, graph), plans_in_journal(shorter, graph))) std::abort();
    }
    return 0;
}
