// The settings of libtorch that decide which kernels run. With other settings, the ops of a captured step
// could run other kernels.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace rematlas {

struct KernelSettings {
    enum class Determinism {
        off,
        warn,
        strict
    };  ///< as in torch.use_deterministic_algorithms; `warn` means warn_only=True
    Determinism determinism = Determinism::off;
    bool cudnn = true, cudnn_benchmark = false, cudnn_deterministic = false;
    std::string matmul_fp32 = "none", convolution_fp32 = "none",
                recurrent_fp32 = "none";  ///< ieee, tf32, ...
    bool flash_attention = true, memory_efficient_attention = true, cudnn_attention = true,
         math_attention = true;
    bool operator==(const KernelSettings&) const = default;

    static KernelSettings of_process();
    /// Applies these settings to the process.
    void put_in_force() const;
    /// Returns settings under which every op must use its deterministic kernel; an op without one fails.
    static KernelSettings strict();
    /// Returns settings for steps in which an op has no deterministic kernel. They equal `strict`, except
    /// that such an op runs, and that fused attention is off, because its backward adds in no fixed order.
    static KernelSettings lenient();
};

/// Describes the first difference, or returns nullopt if there is none.
std::optional<std::string> difference(const KernelSettings& planned, const KernelSettings& now);

nlohmann::json to_json(const KernelSettings& settings);
/// Reads the object that `to_json` made. Unknown keys are ignored, and missing ones get their defaults.
KernelSettings settings_from(const nlohmann::json& object);

/// Returns true for libtorch's error that a requested op has no deterministic kernel.
bool says_not_deterministic(const std::string& error);

}  // namespace rematlas
