// Replaces the CUDA kernels of aten by one function. A kernel is not replaced if the CPU has no such kernel.
// The function allocates the kernel's results from the device's own allocator, and submits the CPU's kernel
// to the stream. The CPU's kernel works on the same bytes.
#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/op_registration/op_registration.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/EmptyTensor.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/ops/_fused_sdp_choice_native.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/copy_native.h>
#include <ATen/ops/zero.h>
#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/Exception.h>
#include <torch/csrc/jit/passes/tensorexpr_fuser.h>
#include <torch/library.h>

#include <mutex>
#include <set>

#include "tests/simgpu/engine.h"
#include "tests/simgpu/kernels/shapes.h"
#include "tests/simgpu/kernels/tensors.h"
#include "tests/simgpu/settings.h"

namespace simgpu {
namespace {

using torch::jit::Stack;

bool multiplies(const std::string& name) {
    static const std::set<std::string> names = {"aten::mm",
                                                "aten::mm.out",
                                                "aten::addmm",
                                                "aten::addmm.out",
                                                "aten::addmm_",
                                                "aten::bmm",
                                                "aten::bmm.out",
                                                "aten::baddbmm",
                                                "aten::baddbmm.out",
                                                "aten::baddbmm_",
                                                "aten::addmv",
                                                "aten::addmv.out",
                                                "aten::addmv_",
                                                "aten::dot",
                                                "aten::vdot",
                                                "aten::_convolution",
                                                "aten::convolution_backward",
                                                "aten::_addmm_activation"};
    return names.contains(name);
}

/// Says whether the host must wait for the values of the arguments, because they determine shapes of results
/// or because a result is not a tensor.
bool needs_values(const c10::OperatorHandle& op, const Stack& arguments) {
    static const std::set<std::string> indexing = {"aten::index", "aten::index_put", "aten::index_put_",
                                                   "aten::_index_put_impl_"};
    if (indexing.contains(op.schema().name())) {
        bool masks = false;
        mapped(arguments[1], [&](const at::Tensor& index) {
            masks |= index.scalar_type() == at::kBool || index.scalar_type() == at::kByte;
            return index;
        });
        return masks;
    }
    if (op.hasTag(at::Tag::dynamic_output_shape) || op.hasTag(at::Tag::data_dependent_output)) return true;
    for (const c10::Argument& result : op.schema().returns())
        if (!result.type()->isSubtypeOf(*c10::TensorType::get()) &&
            result.type()->kind() != c10::TypeKind::ListType)
            return true;
    return false;
}

/// A position of the random generator. `now` returns it as seed and offset, and is called when the work runs.
/// Recorded work reads the position from the device.
struct Draw {
    at::PhiloxCudaState state;
    std::pair<std::uint64_t, std::uint64_t> now() const {
        static std::uint64_t calls = 0;
        if (settings().broken_generator) return {0, ++calls};
        if (!state.captured_) return {state.seed_.val, state.offset_.val};
        return {static_cast<std::uint64_t>(*state.seed_.ptr),
                static_cast<std::uint64_t>(*state.offset_.ptr) + state.offset_intragraph_};
    }
};

/// Reserves the random numbers of a kernel and returns their position. Reserves as many as a GPU kernel with
/// at most eight blocks of 256 threads for each multiprocessor, whose threads draw four numbers at a time.
Draw draw_for(const at::Generator& generator, std::int64_t elements) {
    const std::int64_t blocks =
        std::clamp<std::int64_t>((elements + 255) / 256, 1, settings().multiprocessors * 8);
    const std::int64_t rounds = (std::max<std::int64_t>(elements, 1) - 1) / (256 * blocks * 4) + 1;
    auto* implementation = at::check_generator<at::CUDAGeneratorImpl>(generator);
    std::lock_guard lock(implementation->mutex_);
    return {implementation->philox_cuda_state(static_cast<std::uint64_t>(rounds) * 4)};
}

class Call {
  public:
    Call(const c10::OperatorHandle& op, Stack* stack)
        : op_(op), name_(c10::toString(op.operator_name())), special_(special_kernel(name_)), stack_(stack) {
        const std::size_t count = op.schema().arguments().size();
        given_.assign(stack->end() - static_cast<std::ptrdiff_t>(count), stack->end());
        find_device();
    }

    void run() {
        const c10::cuda::CUDAGuard guard(device_);
        translate();
        if (const char* kernel = undetermined_kernel(op_.schema().name()))
            at::globalContext().alertNotDeterministic(kernel);
        if (multiplies(name_)) at::cuda::getCurrentCUDABlasHandle();
        if (!special_ && needs_values(op_, given_)) return run_now();
        const Shapes& shapes = shapes_of(op_, name_, special_, given_);
        grow_outputs(shapes);
        read_arguments();
        Stack results = allocate(shapes);
        submit_kernel();
        replace(std::move(results));
    }

  private:
    void find_device() {
        device_ = c10::Device(c10::kCUDA, c10::cuda::current_device());
        bool found = false;
        for (const c10::IValue& value : given_) {
            if (value.isDevice() && value.toDevice().is_cuda() && value.toDevice().has_index())
                device_ = value.toDevice();
            mapped(value, [&](const at::Tensor& tensor) {
                if (!found && tensor.is_cuda()) device_ = tensor.device(), found = true;
                return tensor;
            });
        }
    }

    /// Replaces arguments that name the device by arguments that the CPU's kernel accepts, and host tensors
    /// by copies of their values. Finds out whether the kernel draws random numbers.
    void translate() {
        const auto& declared = op_.schema().arguments();
        for (std::size_t i = 0; i < given_.size(); ++i) {
            c10::IValue& value = given_[i];
            if (value.isDevice()) value = c10::Device(c10::kCPU);
            if (declared[i].name() == "pin_memory") value = c10::IValue();
            if (value.isGenerator()) generator_ = value.toGenerator();
            if (declared[i].name() == "generator" || value.isGenerator()) draws_ = true;
            value = mapped(value, [&](const at::Tensor& tensor) {
                TORCH_CHECK(tensor.is_cuda() || !writes(declared[i]), name_,
                            ": a kernel of the device writes to a tensor of the host");
                return tensor.is_cpu() ? snapshot(tensor) : tensor;
            });
        }
        if (special_) draws_ |= special_->draws;
        if (draws_ && !generator_) generator_ = at::cuda::detail::getDefaultCUDAGenerator(device_.index());
    }

    void grow_outputs(const Shapes& shapes) {
        const auto& declared = op_.schema().arguments();
        std::size_t next = 0;
        for (std::size_t i = 0; i < declared.size(); ++i) {
            if (!writes(declared[i])) continue;
            mapped(given_[i], [&](const at::Tensor& tensor) {
                const Shape& shape = shapes.written.at(next++);
                if (tensor.sizes() != at::IntArrayRef(shape.sizes)) tensor.resize_(shape.sizes);
                return tensor;
            });
        }
    }

    void read_arguments() {
        const auto& declared = op_.schema().arguments();
        for (std::size_t i = 0; i < given_.size(); ++i)
            arguments_.push_back(mapped(given_[i], [&](const at::Tensor& tensor) {
                if (tensor.is_cpu()) return tensor;
                TORCH_CHECK(tensor.device() == device_, "Expected all tensors to be on the same device (",
                            name_, ")");
                note(tensor, writes(declared[i]));
                elements_ = std::max(elements_, tensor.numel());
                return on_host(tensor);
            }));
    }

    void note(const at::Tensor& tensor, bool is_written) {
        accesses_.push_back(bytes_of(tensor, is_written));
        bytes_ += tensor.numel() * static_cast<std::int64_t>(tensor.element_size());
    }

    Stack allocate(const Shapes& shapes) {
        Stack results;
        std::size_t next = 0;
        const auto& returns = op_.schema().returns();
        const auto one = [&](bool is_argument) {
            const Shape& shape = shapes.results.at(next++);
            if (!shape.defined) return targets_.emplace_back(), at::Tensor();
            if (shape.same_as >= 0)
                return targets_.emplace_back(), given_[static_cast<std::size_t>(shape.same_as)].toTensor();
            TORCH_INTERNAL_ASSERT(!is_argument, name_);
            const at::Tensor made =
                at::detail::empty_strided_cuda(shape.sizes, shape.strides, shape.type, device_);
            note(made, true);
            elements_ = std::max(elements_, made.numel());
            targets_.push_back(on_host(made));
            return made;
        };
        for (std::size_t i = 0; i < returns.size(); ++i) {
            if (!shapes.numbers[i].isNone()) {
                ++next, targets_.emplace_back();
                results.push_back(shapes.numbers[i]);
                continue;
            }
            if (lies_on_host(i)) {
                const Shape& shape = shapes.results.at(next++);
                targets_.emplace_back();
                results.emplace_back(
                    at::detail::empty_strided_cpu(shape.sizes, shape.strides, shape.type).zero_());
                continue;
            }
            if (!shapes.lengths[i]) {
                results.emplace_back(one(writes(returns[i])));
                continue;
            }
            c10::List<at::Tensor> list;
            for (std::size_t k = 0; k < *shapes.lengths[i]; ++k) list.push_back(one(writes(returns[i])));
            results.emplace_back(std::move(list));
        }
        return results;
    }

    bool lies_on_host(std::size_t result) const {
        if (!special_ || std::find(special_->on_host.begin(), special_->on_host.end(), int(result)) ==
                             special_->on_host.end())
            return false;
        return capture_status(c10::cuda::getCurrentCUDAStream(device_.index()), nullptr, nullptr) ==
               cudaStreamCaptureStatusNone;
    }

    void submit_kernel() {
        Work work;
        work.name = name_;
        work.accesses = std::move(accesses_);
        work.nanoseconds = settings().launch_nanoseconds + double(bytes_) / settings().memory_rate;
        std::optional<Draw> draw;
        if (draws_) draw = draw_for(*generator_, elements_);
        work.run = [op = op_, special = special_, arguments = std::move(arguments_),
                    targets = std::move(targets_), draw] {
            const Apart apart;
            Stack stack = arguments;
            at::Generator generator;
            if (draw) generator = generator_at(draw->now().first, draw->now().second);
            call_twin(op, special, stack, generator);
            std::size_t next = 0;
            const auto store = [&](const at::Tensor& result) {
                const at::Tensor& target = targets.at(next++);
                if (!target.defined()) return;
                TORCH_CHECK(result.sizes() == target.sizes(),
                            "the shape depends on values, and is taken from zeros");
                target.copy_(result);
            };
            for (const c10::IValue& result : stack) {
                if (result.isTensorList())
                    for (const at::Tensor& tensor : result.toTensorVector()) store(tensor);
                else
                    store(result.isTensor() ? result.toTensor() : at::Tensor());
            }
        };
        C10_CUDA_CHECK(submit(c10::cuda::getCurrentCUDAStream(device_.index()), std::move(work)));
    }

    /// Waits for the arguments, runs the CPU's kernel on the host, and copies its results to the device.
    void run_now() {
        const auto stream = c10::cuda::getCurrentCUDAStream(device_.index());
        C10_CUDA_CHECK(cudaStreamSynchronize(stream));
        read_arguments();
        Stack results = arguments_;
        at::Generator generator;
        if (draws_) {
            const auto [seed, offset] = draw_for(*generator_, elements_).now();
            generator = generator_at(seed, offset);
        }
        {
            const Apart apart;
            call_twin(op_, special_, results, generator);
        }
        for (c10::IValue& result : results)
            result = mapped(result, [&](const at::Tensor& tensor) {
                for (const c10::IValue& argument : arguments_)
                    if (argument.isTensor() && argument.toTensor().is_same(tensor))
                        return given_[static_cast<std::size_t>(&argument - arguments_.data())].toTensor();
                const at::Tensor made = at::detail::empty_strided_cuda(tensor.sizes(), tensor.strides(),
                                                                       tensor.scalar_type(), device_);
                Work work;
                work.name = name_;
                work.accesses = {bytes_of(made, true)};
                work.nanoseconds = settings().launch_nanoseconds;
                work.run = [target = on_host(made), tensor] {
                    const Apart apart;
                    target.copy_(tensor);
                };
                C10_CUDA_CHECK(submit(stream, std::move(work)));
                return made;
            });
        replace(std::move(results));
    }

    void replace(Stack results) {
        stack_->erase(stack_->end() - static_cast<std::ptrdiff_t>(given_.size()), stack_->end());
        for (c10::IValue& result : results) stack_->push_back(std::move(result));
    }

    c10::OperatorHandle op_;
    std::string name_;
    const SpecialKernel* special_;
    Stack* stack_;
    Stack given_, arguments_;
    std::vector<at::Tensor> targets_;  ///< per result: the tensor in which it is stored; undefined if it is
                                       ///< not stored
    std::vector<Access> accesses_;
    c10::Device device_ = c10::kCUDA;
    std::optional<at::Generator> generator_;
    bool draws_ = false;
    std::int64_t bytes_ = 0, elements_ = 0;
};

void simulate(const c10::OperatorHandle& op, Stack* stack) {
    Call(op, stack).run();
}

/// Simulates a copy within one device like a kernel. Leaves any other copy to libtorch's own code, which
/// calls copy functions of the CUDA runtime.
void simulate_copy(const c10::OperatorHandle& op, Stack* stack) {
    const std::size_t first = stack->size() - 3;
    const at::Tensor to = (*stack)[first].toTensor(), from = (*stack)[first + 1].toTensor();
    if (to.is_cuda() && from.is_cuda() && to.device() == from.device()) return simulate(op, stack);
    const bool non_blocking = (*stack)[first + 2].toBool();
    at::Tensor target = to;
    at::native::copy_(target, from, non_blocking);
    stack->erase(stack->begin() + static_cast<std::ptrdiff_t>(first), stack->end());
    stack->emplace_back(to);
}

/// Handles `_convolution`. Traces call this op above autograd; then it is decomposed into other ops. Below
/// autograd it is simulated as a kernel.
void simulate_convolution(const c10::OperatorHandle& op, Stack* stack) {
    if (c10::impl::tls_local_dispatch_key_set().excluded_.has(c10::DispatchKey::AutogradFunctionality) ||
        !at::GradMode::is_enabled())
        return simulate(op, stack);
    const Stack given(stack->end() - static_cast<std::ptrdiff_t>(op.schema().arguments().size()),
                      stack->end());
    const auto bias = given[2].isNone() ? std::nullopt : std::optional(given[2].toTensor());
    const at::Tensor made = at::convolution(
        given[0].toTensor(), given[1].toTensor(), bias, given[3].toIntVector(), given[4].toIntVector(),
        given[5].toIntVector(), given[6].toBool(), given[7].toIntVector(), given[8].toInt());
    stack->erase(stack->end() - static_cast<std::ptrdiff_t>(given.size()), stack->end());
    stack->emplace_back(made);
}

std::int64_t choose_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                              const std::optional<at::Tensor>& mask, double dropout, bool causal,
                              std::optional<double> scale, bool grouped) {
    constexpr std::int64_t plain = 0;  // sdp::SDPBackend::math
    if (dropout > 0 || grouped) return plain;
    return at::native::_fused_sdp_choice_cuda(query, key, value, mask, dropout, causal, scale, grouped);
}

/// Says whether the op keeps its own code for the device: the op returns a view, or launches no kernel.
bool keeps_its_kernel(const c10::OperatorHandle& op) {
    static const std::set<std::string> kept = {"aten::resize_",
                                               "aten::empty.memory_format",
                                               "aten::empty_strided",
                                               "aten::_local_scalar_dense",
                                               "aten::record_stream",
                                               "aten::is_set_to",
                                               "aten::_pin_memory",
                                               "aten::is_pinned",
                                               "aten::_fused_sdp_choice",
                                               "aten::_use_cudnn_ctc_loss",
                                               "aten::_use_cudnn_ctc_loss.Tensor"};
    const c10::FunctionSchema& schema = op.schema();
    if (kept.contains(c10::toString(op.operator_name())) || schema.name() == "aten::set_") return true;
    return std::any_of(schema.returns().begin(), schema.returns().end(), [](const c10::Argument& result) {
        return result.alias_info() && !result.alias_info()->isWrite();
    });
}

bool has_cpu_kernel(const c10::OperatorHandle& op) {
    return op.hasKernelForDispatchKey(c10::DispatchKey::CPU) ||
           op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd) ||
           op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutogradNonFunctional) ||
           op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
}

struct Silent final : c10::WarningHandler {
    void process(const c10::Warning&) override {}
};

void replace_kernels() {
    Silent silent;  // without it, libtorch warns of each replaced kernel
    const c10::WarningUtils::WarningHandlerGuard guard(&silent);
    static torch::Library library(torch::Library::IMPL, "aten", c10::DispatchKey::CUDA, __FILE__, __LINE__);
    using torch::CppFunction;
    for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
        if (name.name.rfind("aten::", 0) != 0) continue;
        const auto op = c10::Dispatcher::singleton().findSchema(name);
        if (!op) continue;
        const std::string text = c10::toString(name);
        if (text == "aten::copy_") {
            library.impl(text.c_str(), CppFunction::makeFromBoxedFunction<&simulate_copy>());
        } else if (name.name == "aten::_convolution" && name.overload_name != "out") {
            library.impl(text.c_str(), CppFunction::makeFromBoxedFunction<&simulate_convolution>());
        } else if (special_kernel(text) || (op->hasKernelForDispatchKey(c10::DispatchKey::CUDA) &&
                                            has_cpu_kernel(*op) && !keeps_its_kernel(*op))) {
            library.impl(text.c_str(), CppFunction::makeFromBoxedFunction<&simulate>());
        }
    }
    at::native::_fused_sdp_choice_stub.set_cuda_dispatch_ptr(&choose_attention);
    at::globalContext().setUserEnabledCuDNN(false);
    torch::jit::setTensorExprFuserEnabled(false);  // the fuser would compile kernels for the device
}

const bool replaced = (replace_kernels(), true);

}  // namespace
}  // namespace simgpu
