#include "runtime/device/cuda/generator.h"

#include <mutex>

namespace rematlas {
namespace {

at::Generator generator_of(c10::DeviceIndex index) {
    return at::cuda::detail::getDefaultCUDAGenerator(index);
}

}  // namespace

Philox philox_of(c10::DeviceIndex index) {
    at::Generator generator = generator_of(index);
    const std::lock_guard lock(generator.mutex());
    return {.seed = generator.current_seed(), .offset = generator.get_offset()};
}

bool CudaGeneratorState::equals(const GeneratorState& other) const {
    const auto& state = dynamic_cast<const CudaGeneratorState&>(other);
    return philox == state.philox && host->equals(*state.host);
}

std::uint64_t CudaGeneratorState::digest() const {
    return (philox.seed * 0x9e3779b97f4a7c15u) ^ (philox.offset * 0xff51afd7ed558ccdu) ^ host->digest();
}

std::optional<std::int64_t> CudaGeneratorState::distance_to(const GeneratorState& later) const {
    const auto& state = dynamic_cast<const CudaGeneratorState&>(later);
    if (philox.seed != state.philox.seed || state.philox.offset < philox.offset) return std::nullopt;
    const auto moved = static_cast<std::int64_t>(state.philox.offset - philox.offset);
    if (host->equals(*state.host)) return moved;
    const auto drawn = host->distance_to(*state.host);
    return moved == 0 && drawn ? std::optional(-*drawn) : std::nullopt;
}

void CudaGeneratorState::advance(std::int64_t draws) {
    if (draws < 0)
        host->advance(-draws);
    else
        philox.offset += static_cast<std::uint64_t>(draws);
}

std::unique_ptr<CudaGeneratorState> generator_state_of(c10::DeviceIndex index, const DeviceRuntime& host) {
    auto state = std::make_unique<CudaGeneratorState>();
    state->philox = philox_of(index);
    state->host = host.generator_state();
    return state;
}

void set_generator_state_of(c10::DeviceIndex index, DeviceRuntime& host, const GeneratorState& saved) {
    const auto& state = dynamic_cast<const CudaGeneratorState&>(saved);
    at::Generator generator = generator_of(index);
    {
        const std::lock_guard lock(generator.mutex());
        generator.set_current_seed(state.philox.seed);
        generator.set_offset(state.philox.offset);
    }
    host.set_generator_state(*state.host);
}

GeneratorForCapture::GeneratorForCapture(c10::DeviceIndex index)
    : index_(index), before_(generator_of(index).graphsafe_get_state()) {
    const Philox now = philox_of(index);
    state_ = c10::make_intrusive<at::CUDAGeneratorState>(now.seed, now.offset);
    generator_of(index).graphsafe_set_state(at::make_generator<at::CUDAGeneratorImpl>(index, state_));
}

GeneratorForCapture::~GeneratorForCapture() {
    generator_of(index_).graphsafe_set_state(before_);
}

}  // namespace rematlas
