#include "app/cli/built_in.h"

namespace rematlas {

std::vector<OptionalLibrary> optional_libraries() {
    return {
        {"GLPK", REMATLAS_BUILT_GLPK, "solvers checkmate and checkmate-lp by GLPK (--milp glpk)"},
        {"HiGHS", REMATLAS_BUILT_HIGHS, "solvers checkmate and checkmate-lp by HiGHS (--milp highs)"},
        {"Graphviz", REMATLAS_BUILT_GRAPHVIZ, "pictures of graphs (rematlas draw, rematlas-explorer)"},
        {"cairo", REMATLAS_BUILT_CAIRO, "pictures and reports (rematlas draw, rematlas report)"},
        {"libmicrohttpd", REMATLAS_BUILT_MICROHTTPD, "rematlas serve"},
        {"torch", REMATLAS_BUILT_TORCH, "rematlas capture, run and links, and the Python package"},
        {"CUDA", REMATLAS_BUILT_CUDA, "training on GPUs"},
        {"Qt", REMATLAS_BUILT_QT, "rematlas-explorer"},
    };
}

std::string compiler_of_build() {
#if defined(__clang__)
    const std::string compiler = "clang " __clang_version__;
#else
    const std::string compiler = "GCC " __VERSION__;
#endif
    return compiler + ", " + REMATLAS_BUILD_TYPE;
}

std::string version_text() {
    std::string there, missing;
    for (const OptionalLibrary& library : optional_libraries()) {
        std::string& list = library.is_there ? there : missing;
        list += (list.empty() ? "" : ", ") + library.name;
    }
    const auto or_nothing = [](const std::string& list) { return list.empty() ? "nothing" : list; };
    return std::string("rematlas ") + REMATLAS_VERSION + "\nbuilt in: " + or_nothing(there) +
           "\nnot built in: " + or_nothing(missing) + "\nbuilt by: " + compiler_of_build();
}

}  // namespace rematlas
