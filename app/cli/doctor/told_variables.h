// The environment variables that `rematlas doctor` prints if they are set.
#pragma once

#include <array>

namespace rematlas {

/// Variables that programs of Rematlas read (docs/reference/settings.md).
inline constexpr std::array own_variables = {
    "REMATLAS_CACHE",
    "REMATLAS_LAYOUT_WORKER",
    "REMATLAS_NO_RUNTIME",
    "REMATLAS_PROGRAMS",
    "REMATLAS_PYTHON",
    "REMATLAS_RUNTIME",
    "REMATLAS_TRACEBACK",
    "REMATLAS_SCALE_MEASURED_TIMES",
    "CUBLAS_WORKSPACE_CONFIG",
    "CXX",
    "LD_LIBRARY_PATH",
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_NO_CUDA_MEMORY_CACHING",
    "QT_QPA_PLATFORM",
    "TORCH_CPP_LOG_LEVEL",
    "VIRTUAL_ENV",
    "XDG_CACHE_HOME",
};

/// Variables that Python, torch and CUDA read. They decide which packages Python finds, and which GPUs and
/// how many threads torch uses.
inline constexpr std::array variables_of_others = {"CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "PYTHONPATH"};

}  // namespace rematlas
