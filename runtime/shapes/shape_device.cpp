#include "runtime/shapes/shape_device.h"

#include "core/addresses/caching_allocator.h"

namespace rematlas {
namespace {

class ShapeDevice final : public DeviceRuntime {
  public:
    explicit ShapeDevice(const DeviceProfile& profile) : profile_(profile), cuda_(profile.kind == "cuda") {}
    c10::Device device() const override {
        return cuda_ ? c10::Device(c10::DeviceType::CUDA, 0) : c10::Device(c10::DeviceType::CPU);
    }
    std::string name() const override { return "meta:" + profile_.id; }
    const DeviceProfile* profile_if_absent() const override { return &profile_; }
    std::int64_t footprint(std::int64_t bytes) const override {
        return cuda_ ? (bytes + cuda_granularity - 1) / cuda_granularity * cuda_granularity : bytes;
    }
    std::int64_t library_workspace() const override { return profile_.matmul_workspace.value; }
    Device description() const override {
        Device facts{.name = profile_.name,
                     .memory = profile_.memory,
                     .links = profile_.links,
                     .host_memory = profile_.host.memory,
                     .kind = profile_.kind};
        if (cuda_) {
            facts.alignment = cuda_granularity;
            facts.allocator = CachingAllocatorOptions{};
        }
        return facts;
    }

    // These functions do nothing or return zero, because nothing runs on the device.
    std::int64_t alive_bytes() const override { return 0; }
    std::int64_t peak_bytes() const override { return 0; }
    void reset_peak() override {}
    void synchronize() override {}
    std::int64_t now() override { return 0; }
    std::unique_ptr<Marks> marks(std::size_t) override { return nullptr; }
    // The host's generator takes the place of the device's generator. Nothing is drawn from it. Recorders
    // advance it as far as a kernel would, and programs that reset the generator for a second run
    // (checkpoints) reset it to the same state.
    std::unique_ptr<GeneratorState> generator_state() const override { return host_->generator_state(); }
    void set_generator_state(const GeneratorState& state) override { host_->set_generator_state(state); }
    void seed_generator(std::uint64_t seed) override { host_->seed_generator(seed); }
    void copy(c10::Storage&, const c10::Storage&) override {}

  private:
    DeviceProfile profile_;
    bool cuda_;
    std::unique_ptr<DeviceRuntime> host_ = cpu_runtime();
};

}  // namespace

std::unique_ptr<DeviceRuntime> shape_device(const DeviceProfile& profile) {
    return std::make_unique<ShapeDevice>(profile);
}

}  // namespace rematlas
