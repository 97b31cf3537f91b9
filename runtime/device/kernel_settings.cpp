#include "runtime/device/kernel_settings.h"

#include <ATen/Context.h>

#include <array>
#include <nlohmann/json.hpp>

namespace rematlas {
namespace {

using Determinism = KernelSettings::Determinism;

struct Switch {
    const char* name;   ///< key in files
    const char* words;  ///< name in Python
    bool KernelSettings::*value;
};
constexpr std::array<Switch, 7> switches{{
    {"cudnn", "torch.backends.cudnn.enabled", &KernelSettings::cudnn},
    {"cudnn_benchmark", "torch.backends.cudnn.benchmark", &KernelSettings::cudnn_benchmark},
    {"cudnn_deterministic", "torch.backends.cudnn.deterministic", &KernelSettings::cudnn_deterministic},
    {"flash_attention", "torch.backends.cuda.flash_sdp_enabled()", &KernelSettings::flash_attention},
    {"memory_efficient_attention", "torch.backends.cuda.mem_efficient_sdp_enabled()",
     &KernelSettings::memory_efficient_attention},
    {"cudnn_attention", "torch.backends.cuda.cudnn_sdp_enabled()", &KernelSettings::cudnn_attention},
    {"math_attention", "torch.backends.cuda.math_sdp_enabled()", &KernelSettings::math_attention},
}};

struct Precision {
    const char* name;
    const char* words;
    at::Float32Op op;
    std::string KernelSettings::*value;
};
constexpr std::array<Precision, 3> precisions{{
    {"matmul_fp32", "torch.backends.cuda.matmul.fp32_precision", at::Float32Op::MATMUL,
     &KernelSettings::matmul_fp32},
    {"convolution_fp32", "torch.backends.cudnn.conv.fp32_precision", at::Float32Op::CONV,
     &KernelSettings::convolution_fp32},
    {"recurrent_fp32", "torch.backends.cudnn.rnn.fp32_precision", at::Float32Op::RNN,
     &KernelSettings::recurrent_fp32},
}};
constexpr std::array<const char*, 3> determinisms{"off", "warn", "strict"};

template <std::size_t N>
int place_in(const std::array<const char*, N>& names, const std::string& name) {
    for (std::size_t i = 0; i < N; ++i)
        if (name == names[i]) return static_cast<int>(i);
    return 0;
}

}  // namespace

KernelSettings KernelSettings::of_process() {
    const at::Context& context = at::globalContext();
    KernelSettings now;
    if (context.deterministicAlgorithms())
        now.determinism = context.deterministicAlgorithmsWarnOnly() ? Determinism::warn : Determinism::strict;
    now.cudnn = context.userEnabledCuDNN();
    now.cudnn_benchmark = context.benchmarkCuDNN();
    now.cudnn_deterministic = context.deterministicCuDNN();
    for (const Precision& one : precisions)
        now.*one.value = at::precision2str(context.float32Precision(at::Float32Backend::CUDA, one.op));
    now.flash_attention = context.userEnabledFlashSDP();
    now.memory_efficient_attention = context.userEnabledMemEfficientSDP();
    now.cudnn_attention = context.userEnabledCuDNNSDP();
    now.math_attention = context.userEnabledMathSDP();
    return now;
}

void KernelSettings::put_in_force() const {
    at::Context& context = at::globalContext();
    context.setDeterministicAlgorithms(determinism != Determinism::off, determinism == Determinism::warn);
    // By default, deterministic mode also fills each tensor that `empty` makes: one more kernel for many ops.
    if (determinism != Determinism::off) context.setDeterministicFillUninitializedMemory(false);
    context.setUserEnabledCuDNN(cudnn);
    context.setBenchmarkCuDNN(cudnn_benchmark);
    context.setDeterministicCuDNN(cudnn_deterministic);
    for (const Precision& one : precisions)
        context.setFloat32Precision(at::Float32Backend::CUDA, one.op, at::str2precision(this->*one.value));
    context.setSDPUseFlash(flash_attention);
    context.setSDPUseMemEfficient(memory_efficient_attention);
    context.setSDPUseCuDNN(cudnn_attention);
    context.setSDPUseMath(math_attention);
}

KernelSettings KernelSettings::strict() {
    KernelSettings chosen = of_process();
    chosen.determinism = Determinism::strict;
    chosen.cudnn_benchmark = false;
    chosen.cudnn_deterministic = true;
    return chosen;
}

KernelSettings KernelSettings::lenient() {
    KernelSettings chosen = strict();
    chosen.determinism = Determinism::warn;
    chosen.flash_attention = chosen.memory_efficient_attention = chosen.cudnn_attention = false;
    return chosen;
}

std::optional<std::string> difference(const KernelSettings& planned, const KernelSettings& now) {
    const auto text = [](const std::string& what, const std::string& then, const std::string& today) {
        return what + " was " + then + " when the step was captured and is " + today;
    };
    if (planned.determinism != now.determinism)
        return text("torch.use_deterministic_algorithms",
                    determinisms[static_cast<std::size_t>(planned.determinism)],
                    determinisms[static_cast<std::size_t>(now.determinism)]);
    for (const Switch& one : switches)
        if (planned.*one.value != now.*one.value)
            return text(one.words, planned.*one.value ? "on" : "off", now.*one.value ? "on" : "off");
    for (const Precision& one : precisions)
        if (planned.*one.value != now.*one.value) return text(one.words, planned.*one.value, now.*one.value);
    return std::nullopt;
}

nlohmann::json to_json(const KernelSettings& settings) {
    nlohmann::json object = {{"deterministic", determinisms[static_cast<std::size_t>(settings.determinism)]}};
    for (const Precision& one : precisions) object[one.name] = settings.*one.value;
    for (const Switch& one : switches) object[one.name] = settings.*one.value;
    return object;
}

KernelSettings settings_from(const nlohmann::json& object) {
    KernelSettings settings;
    settings.determinism =
        static_cast<Determinism>(place_in(determinisms, object.value("deterministic", std::string("off"))));
    for (const Precision& one : precisions)
        settings.*one.value =
            at::precision2str(at::str2precision(object.value(one.name, settings.*one.value)));
    for (const Switch& one : switches) settings.*one.value = object.value(one.name, settings.*one.value);
    return settings;
}

bool says_not_deterministic(const std::string& error) {
    return error.find("does not have a deterministic implementation") != std::string::npos;
}

}  // namespace rematlas
