#include "core/bounds/term_programme.h"

namespace rematlas {

Term TermProgramme::add_column(std::int64_t cost) {
    return model.add_column({.lower = 0, .upper = 1, .cost = static_cast<double>(cost), .integer = true});
}

void TermProgramme::add_row(std::int64_t least, std::span<const Entry> entries) {
    std::int64_t smallest = 0, largest = 0;
    row_.clear();
    for (const auto& [term, factor] : entries) {
        if (term == kNever || factor == 0) continue;
        if (term == kAlways) {
            least -= factor;
            continue;
        }
        (factor < 0 ? smallest : largest) += factor;
        row_.push_back({term, static_cast<double>(factor)});
    }
    if (smallest >= least) return;
    impossible_ |= largest < least;
    model.add_row(static_cast<double>(least), kInfinite, row_);
}

}  // namespace rematlas
