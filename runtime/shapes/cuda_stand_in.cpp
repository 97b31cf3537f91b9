#include "runtime/shapes/cuda_stand_in.h"

#include <ATen/core/grad_mode.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/native/RNN.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/ops/_fused_sdp_choice.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/core/impl/FakeGuardImpl.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>

#include "runtime/model/input_spec.h"
#include "runtime/shapes/shape_tensor.h"
#include "runtime/torch_versions/own_key.h"

namespace rematlas {
namespace {

constexpr c10::DeviceType cuda = c10::DeviceType::CUDA;

double capability = 0;
std::atomic<bool> stands_in = false;
/// The device guard of libtorch's own CUDA; null if CUDA is not loaded.
const c10::impl::DeviceGuardImplInterface* guard_before = nullptr;
void* functions_before = nullptr;  ///< original virtual functions of the object that libtorch asks about
                                   ///< CUDA; null if they were not replaced

/// A device guard for one device with one stream. Its events are always complete.
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

/// Says whether the guard knows a device. Before libtorch makes fake tensors of an absent device, it installs
/// a guard that only counts devices.
bool has_devices(const c10::impl::DeviceGuardImplInterface* guard) {
    return guard && guard->deviceCount() > 0 && !dynamic_cast<const c10::impl::FakeGuardImpl<cuda>*>(guard) &&
           !dynamic_cast<const c10::impl::NoOpDeviceGuardImpl<cuda>*>(guard);
}

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

/// libtorch asks one object about CUDA as long as the process lives, and offers no way to replace this
/// object. Its class has no data members, and neither has `Hooks`. So the object begins with the pointer to
/// its virtual functions, and this pointer can be replaced.
void*& functions_of(const at::CUDAHooksInterface& hooks) {
    return *reinterpret_cast<void**>(const_cast<at::CUDAHooksInterface*>(&hooks));
}

std::int64_t choose_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                              const std::optional<at::Tensor>& mask, double dropout, bool causal,
                              std::optional<double> scale, bool grouped_heads) {
    if (!stands_in)  // this op still calls libtorch's original kernel, which makes the choice
        return at::_fused_sdp_choice(query, key, value, mask, dropout, causal, scale, grouped_heads);
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

at::Tensor on_host(const at::Tensor& tensor) {
    if (tensor.device().is_cpu()) return tensor;
    TORCH_CHECK(has_values_on_host(tensor),
                "the values of a tensor are needed, and a capture from shapes has none");
    return tensor_on(relabelled(tensor.storage(), c10::DeviceType::CPU), tensor);
}

at::Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride, std::optional<at::ScalarType> dtype,
                         std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>) {
    const c10::impl::ExcludeDispatchKeyGuard unseen(own_key);
    const at::Tensor host = at::empty_strided(size, stride, at::TensorOptions().dtype(dtype));
    return tensor_on(relabelled(host.storage(), c10::Device(cuda, 0)), host);
}

at::Tensor& copy(at::Tensor& self, const at::Tensor& source, bool) {
    const c10::impl::ExcludeDispatchKeyGuard unseen(own_key);
    on_host(self).copy_(on_host(source));
    return self;
}

/// Registers kernels for small tensors that libtorch makes outside of all modes (torch.tensor, lists of
/// indices). On an absent device the values of these tensors are in host memory.
std::unique_ptr<torch::Library> kernels_past_modes() {
    struct Silence final : c10::WarningHandler {
        void process(const c10::Warning&) override {}
    } overrides_are_meant;
    const c10::WarningUtils::WarningHandlerGuard silent(&overrides_are_meant);
    auto library = std::make_unique<torch::Library>(torch::Library::IMPL, "aten", c10::DispatchKey::CUDA,
                                                    __FILE__, __LINE__);
    library->impl("empty_strided", &empty_strided);
    library->impl("copy_", &copy);
    return library;
}
std::unique_ptr<torch::Library> past_modes;

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
    // The tensor cores need rows of a multiple of 128 bits in half precision, and of 4 elements otherwise.
    const std::int64_t alignment = half ? (device >= 7.0 ? 8 : 1) : device >= 8.0 ? 4 : 1;
    const bool efficient = (half || call.dtype == "f32") && !call.grouped && !call.mask_gradient &&
                           call.width % alignment == 0 && call.value_width % alignment == 0;
    return efficient ? AttentionKernel::efficient : AttentionKernel::math;
}

void stand_in_for_cuda(const DeviceProfile& profile) {
    capability = profile.capability;
    auto& guard = c10::impl::device_guard_impl_registry[static_cast<std::size_t>(cuda)];
    if (stands_in) return;
    guard_before = guard.load();
    stands_in = true;
    static std::once_flag once;
    std::call_once(once, [] {
        at::native::_fused_sdp_choice_stub.set_cuda_dispatch_ptr(&choose_attention);
        if (has_devices(guard_before)) return;
        if (!at::CUDAHooksRegistry()->Has("CUDAHooks"))
            at::CUDAHooksRegistry()->Register("CUDAHooks",
                                              [](at::CUDAHooksArgs) { return std::make_unique<Hooks>(); });
        at::native::lstm_cudnn_stub.set_cuda_dispatch_ptr(&refuse_recurrent_layer);
        at::native::gru_cudnn_stub.set_cuda_dispatch_ptr(&refuse_recurrent_layer);
        at::native::rnn_tanh_cudnn_stub.set_cuda_dispatch_ptr(&refuse_recurrent_layer);
        at::native::rnn_relu_cudnn_stub.set_cuda_dispatch_ptr(&refuse_recurrent_layer);
    });
    static const auto* own_guard = new OneDeviceGuard();  // never freed, because the registry keeps it
    if (has_devices(guard_before)) return;
    guard.store(own_guard);
    static const Hooks own_hooks;
    void*& functions = functions_of(at::detail::getCUDAHooks());
    if (!functions_before) functions_before = functions;
    functions = functions_of(own_hooks);
    past_modes = kernels_past_modes();
}

void stop_standing_in() {
    if (!stands_in) return;
    stands_in = false;
    past_modes.reset();
    if (functions_before) functions_of(at::detail::getCUDAHooks()) = functions_before;
    c10::impl::device_guard_impl_registry[static_cast<std::size_t>(cuda)].store(guard_before);
}

}  // namespace rematlas
