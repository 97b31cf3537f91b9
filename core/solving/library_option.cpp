#include "core/solving/library_option.h"

namespace rematlas {

void read_library(OptionReader& reader, MilpLibrary& library) {
    reader.choice("milp", library, {{"highs", MilpLibrary::highs}, {"glpk", MilpLibrary::glpk}});
    if (Result<void> built = has_milp(library); !built) reader.reject(built.error().message);
}

}  // namespace rematlas
