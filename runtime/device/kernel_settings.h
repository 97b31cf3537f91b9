// The settings of libtorch that decide which kernels run. A step that was captured under some settings is a
// different step under others.
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
    };  ///< torch.use_deterministic_algorithms; warn: warn_only=True
    Determinism determinism = Determinism::off;
    bool cudnn = true, cudnn_benchmark = false, cudnn_deterministic = false;
    std::string matmul_fp32 = "none", convolution_fp32 = "none",
                recurrent_fp32 = "none";  ///< ieee, tf32, ...
    bool flash_attention = true, memory_efficient_attention = true, cudnn_attention = true,
         math_attention = true;
    bool operator==(const KernelSettings&) const = default;

    static KernelSettings of_process();
    /// Changes the settings of the process.
    void put_in_force() const;
    /// Every op uses its deterministic kernel; an op without one is an error.
    static KernelSettings strict();
    /// For steps in which an op has no deterministic kernel. Other choices are switched off. Attention then
    /// takes its plain form, because the backward of the fused forms adds up in any order.
    static KernelSettings lenient();
};

/// Describes the first difference; nothing if there is none.
std::optional<std::string> difference(const KernelSettings& planned, const KernelSettings& now);

nlohmann::json to_json(const KernelSettings& settings);
/// Reads the object that `to_json` made. Unknown keys are ignored, and missing ones get their defaults.
KernelSettings settings_from(const nlohmann::json& object);

/// True for libtorch's error about a kernel that was asked for and is not deterministic.
bool says_not_deterministic(const std::string& error);

}  // namespace rematlas
