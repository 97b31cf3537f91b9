#include "runtime/shapes/shape_device.h"

#include "core/addresses/caching_allocator.h"

namespace rematlas {
namespace {

/// Nobody draws from it.
class NoGenerator final : public GeneratorState {
  public:
    bool equals(const GeneratorState&) const override { return true; }
    std::uint64_t digest() const override { return 0; }
    std::optional<std::int64_t> distance_to(const GeneratorState&) const override { return 0; }
    void advance(std::int64_t) override {}
};

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
        Device facts{
            .name = profile_.name, .memory = profile_.memory, .links = profile_.links, .kind = profile_.kind};
        if (cuda_) {
            facts.alignment = cuda_granularity;
            facts.allocator = CachingAllocatorOptions{};
        }
        return facts;
    }

    // Nothing runs on it.
    std::int64_t alive_bytes() const override { return 0; }
    std::int64_t peak_bytes() const override { return 0; }
    void reset_peak() override {}
    void synchronize() override {}
    std::int64_t now() override { return 0; }
    std::unique_ptr<Marks> marks(std::size_t) override { return nullptr; }
    std::unique_ptr<GeneratorState> generator_state() const override {
        return std::make_unique<NoGenerator>();
    }
    void set_generator_state(const GeneratorState&) override {}
    void seed_generator(std::uint64_t) override {}
    void copy(c10::Storage&, const c10::Storage&) override {}

  private:
    DeviceProfile profile_;
    bool cuda_;
};

}  // namespace

std::unique_ptr<DeviceRuntime> shape_device(const DeviceProfile& profile) {
    return std::make_unique<ShapeDevice>(profile);
}

}  // namespace rematlas
