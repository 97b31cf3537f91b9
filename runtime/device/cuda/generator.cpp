#include "runtime/device/cuda/generator.h"

#include <mutex>

namespace rematlas {
namespace {

at::Generator generator_of(c10::DeviceIndex index) {
    return at::cuda::detail::getDefaultCUDAGenerator(index);
}

}  // namespace

bool CudaGeneratorState::equals(const GeneratorState& other) const {
    const auto& state = dynamic_cast<const CudaGeneratorState&>(other);
    return seed == state.seed && offset == state.offset && host->equals(*state.host);
}

std::uint64_t CudaGeneratorState::digest() const {
    return (seed * 0x9e3779b97f4a7c15u) ^ (offset * 0xff51afd7ed558ccdu) ^ host->digest();
}

std::optional<std::int64_t> CudaGeneratorState::distance_to(const GeneratorState& later) const {
    const auto& state = dynamic_cast<const CudaGeneratorState&>(later);
    if (seed != state.seed || state.offset < offset) return std::nullopt;
    const auto moved = static_cast<std::int64_t>(state.offset - offset);
    if (host->equals(*state.host)) return moved;
    const auto drawn = host->distance_to(*state.host);
    return moved == 0 && drawn ? std::optional(-*drawn) : std::nullopt;
}

void CudaGeneratorState::advance(std::int64_t draws) {
    if (draws < 0)
        host->advance(-draws);
    else
        offset += static_cast<std::uint64_t>(draws);
}

std::unique_ptr<CudaGeneratorState> generator_state_of(c10::DeviceIndex index, const DeviceRuntime& host) {
    at::Generator generator = generator_of(index);
    auto state = std::make_unique<CudaGeneratorState>();
    {
        const std::lock_guard lock(generator.mutex());
        state->seed = generator.current_seed();
        state->offset = generator.get_offset();
    }
    state->host = host.generator_state();
    return state;
}

void set_generator_state_of(c10::DeviceIndex index, DeviceRuntime& host, const GeneratorState& saved) {
    const auto& state = dynamic_cast<const CudaGeneratorState&>(saved);
    at::Generator generator = generator_of(index);
    {
        const std::lock_guard lock(generator.mutex());
        generator.set_current_seed(state.seed);
        generator.set_offset(state.offset);
    }
    host.set_generator_state(*state.host);
}

GeneratorForRecording::GeneratorForRecording(c10::DeviceIndex index)
    : index_(index), before_(generator_of(index).graphsafe_get_state()) {
    at::Generator generator = generator_of(index);
    std::uint64_t seed, offset;
    {
        const std::lock_guard lock(generator.mutex());
        seed = generator.current_seed(), offset = generator.get_offset();
    }
    state_ = c10::make_intrusive<at::CUDAGeneratorState>(seed, offset, 0);
    generator.graphsafe_set_state(at::make_generator<at::CUDAGeneratorImpl>(index, state_));
}

GeneratorForRecording::~GeneratorForRecording() {
    generator_of(index_).graphsafe_set_state(before_);
}

}  // namespace rematlas
