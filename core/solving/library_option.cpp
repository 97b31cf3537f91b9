#include "core/solving/library_option.h"

namespace rematlas {

void read_library(OptionReader& reader, MilpLibrary& library, bool is_used) {
    reader.choice("milp", library, {{"highs", MilpLibrary::highs}, {"glpk", MilpLibrary::glpk}});
    if (Result<void> built = has_milp(library); is_used && !built) reader.reject(built.error().message);
}

}  // namespace rematlas
