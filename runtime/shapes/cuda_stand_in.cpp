#include "runtime/shapes/cuda_stand_in.h"

#include <ATen/core/grad_mode.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/native/RNN.h>
#include <ATen/native/transformers/attention.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <algorithm>
#include <memory>
#include <mutex>

#include "runtime/model/input_spec.h"

namespace rematlas {
namespace {

constexpr c10::DeviceType cuda = c10::DeviceType::CUDA;

double capability = 0;

/// One device, one stream, events that have always happened.
struct OneDeviceGuard final : c10::impl::NoOpDeviceGuardImpl<cuda> {
    c10::Device exchangeDevice(c10::Device) const override { return {cuda, 0}; }
    c10::Device getDevice() const override { return {cuda, 0}; }
    c10::Stream getStream(c10::Device) const noexcept override { return stream(); }
    c10::Stream getNewStream(c10::Device, int) const override { return stream(); }
    c10::Stream exchangeStream(c10::Stream) const noexcept override { return stream(); }
    void record(void**, const c10::Stream&, const c10::DeviceIndex, const c10::EventFlag) const override {}
    void block(void*, const c10::Stream&) const override {}
    bool queryEvent(void*) const override { return true; }

    static c10::Stream stream() { return c10::Stream(c10::Stream::DEFAULT, c10::Device(cuda, 0)); }
};

struct Hooks final : at::CUDAHooksInterface {
    void init() const override {}
    bool hasCUDA() const override { return true; }
    bool hasCuDNN() const override { return true; }
    bool isBuilt() const override { return true; }
    bool isAvailable() const override { return true; }
    bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
    c10::DeviceIndex current_device() const override { return 0; }
    bool compiledWithCuDNN() const override { return true; }
    bool supportsDilatedConvolutionWithCuDNN() const override { return true; }
    bool supportsDepthwiseConvolutionWithCuDNN() const override { return true; }
    bool supportsBFloat16ConvolutionWithCuDNNv8() const override { return capability >= 8.0; }
    bool supportsBFloat16RNNWithCuDNN() const override { return capability >= 8.0; }
    long versionCuDNN() const override { return 91000; }  // 9.10
    long versionRuntimeCuDNN() const override { return 91000; }
    double batchnormMinEpsilonCuDNN() const override { return 1e-5; }
    int getNumGPUs() const override { return 1; }
    void deviceSynchronize(c10::DeviceIndex) const override {}
};

std::int64_t choose_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                              const std::optional<at::Tensor>& mask, double dropout, bool,
                              std::optional<double>, bool) {
    if (query.dim() != 4 || key.dim() != 4 || value.dim() != 4) return 0;
    const bool masked = mask && mask->defined();
    const bool gradient =
        at::GradMode::is_enabled() && (query.requires_grad() || key.requires_grad() || value.requires_grad());
    return static_cast<std::int64_t>(attention_kernel(
        capability, {.dtype = std::string(dtype_name(query.scalar_type())),
                     .width = query.size(3),
                     .value_width = value.size(3),
                     .masked = masked,
                     .mask_gradient = masked && at::GradMode::is_enabled() && mask->requires_grad(),
                     .gradient = gradient,
                     .grouped = query.size(1) != key.size(1),
                     .dropout = dropout}));
}

template <class... Arguments>
void refuse_recurrent_layer(Arguments...) {
    TORCH_CHECK(false,
                "recurrent layers of cuDNN keep buffers whose sizes only cuDNN knows: capture on the device");
}

}  // namespace

AttentionKernel attention_kernel(double device, const AttentionCall& call) {
    const bool half = call.dtype == "f16" || (call.dtype == "bf16" && device >= 8.0);
    const bool cudnn = (device == 9.0 || device == 10.0) && half && !call.grouped && !call.mask_gradient &&
                       call.width % 8 == 0 && call.value_width % 8 == 0 &&
                       std::max(call.width, call.value_width) <= (device == 9.0 ? 256 : 128);
    if (cudnn) return AttentionKernel::cudnn;
    const bool wide_backward = call.gradient && call.width > 192 && device > 8.0 && device < 9.0;
    const bool flash = device >= 8.0 && half && !call.masked && call.width <= 256 &&
                       call.width == call.value_width &&
                       !(wide_backward && (call.dropout > 0 || call.width > 224));
    if (flash) return AttentionKernel::flash;
    // Rows must be whole for the tensor cores: 128 bits of half precision, four elements of others.
    const std::int64_t alignment = half ? (device >= 7.0 ? 8 : 1) : device >= 8.0 ? 4 : 1;
    const bool efficient = (half || call.dtype == "f32") && !call.grouped && !call.mask_gradient &&
                           call.width % alignment == 0 && call.value_width % alignment == 0;
    return efficient ? AttentionKernel::efficient : AttentionKernel::math;
}

void stand_in_for_cuda(const DeviceProfile& profile) {
    capability = profile.capability;
    static std::once_flag once;
    std::call_once(once, [] {
        auto& guard = c10::impl::device_guard_impl_registry[static_cast<std::size_t>(cuda)];
        if (guard.load()) return;
        guard.store(new OneDeviceGuard());  // lives as long as the process, as the registry asks
        at::CUDAHooksRegistry()->Register("CUDAHooks",
                                          [](at::CUDAHooksArgs) { return std::make_unique<Hooks>(); });
        at::native::_fused_sdp_choice_stub.set_cuda_dispatch_ptr(&choose_attention);
        at::native::lstm_cudnn_stub.set_cuda_dispatch_ptr(&refuse_recurrent_layer);
        at::native::gru_cudnn_stub.set_cuda_dispatch_ptr(&refuse_recurrent_layer);
        at::native::rnn_tanh_cudnn_stub.set_cuda_dispatch_ptr(&refuse_recurrent_layer);
        at::native::rnn_relu_cudnn_stub.set_cuda_dispatch_ptr(&refuse_recurrent_layer);
    });
}

}  // namespace rematlas
