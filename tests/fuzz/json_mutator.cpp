// The changes that clang's fuzzer makes to JSON files: half of them change values, the others change bytes.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string_view>

#include "tests/fuzz/random_changes.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* bytes, std::size_t size, std::size_t largest);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* bytes, std::size_t size, std::size_t largest,
                                               unsigned int seed) {
    std::mt19937_64 random(seed);
    if (random() % 2) {
        const std::string_view text(reinterpret_cast<const char*>(bytes), size);
        const auto changed = rematlas::changed_json(text, random);
        if (changed && changed->size() <= largest) {
            std::memcpy(bytes, changed->data(), changed->size());
            return changed->size();
        }
    }
    return LLVMFuzzerMutate(bytes, size, largest);
}
