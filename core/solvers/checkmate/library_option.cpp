#include "core/solvers/checkmate/library_option.h"

#include <string>

namespace rematlas {

Result<void> finish_with_library(OptionReader& reader, std::string_view solver, MilpLibrary& library) {
    reader.choice("milp", library, {{"highs", MilpLibrary::highs}, {"glpk", MilpLibrary::glpk}});
    if (Result<void> read = reader.finish(); !read) return read.error();
    if (Result<void> built = has_milp(library); !built)
        return Error{std::string(solver) + ": " + built.error().message};
    return {};
}

}  // namespace rematlas
