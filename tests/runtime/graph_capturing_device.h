// A CPU device that imitates a device with CUDA graphs. Captured kernels are the entries of a list.
#pragma once

#include "runtime/device/device.h"
#include "runtime/dispatch/mode.h"

namespace rematlas::test {

/// A submission runs captured kernels again on the addresses that they had during the capture; no other code
/// of the host runs again. Unlike in CUDA, the kernels also run once during the capture; afterwards the
/// contents of `untouched` are restored.
class GraphCapturingDevice final : public DeviceRuntime {
  public:
    explicit GraphCapturingDevice(DeviceRuntime& cpu, std::vector<at::Tensor> untouched = {})
        : cpu_(cpu), untouched_(std::move(untouched)) {}

    std::int64_t granularity = 1;  ///< bytes to which requests are rounded; only reported, as the CPU's
                                   ///< allocator does not round
    std::int64_t workspace = 0;    ///< bytes of the libraries' workspace; only reported

    c10::Device device() const override { return cpu_.device(); }
    std::string name() const override { return cpu_.name(); }
    Device description() const override { return cpu_.description(); }
    std::int64_t alive_bytes() const override { return cpu_.alive_bytes(); }
    std::int64_t peak_bytes() const override { return cpu_.peak_bytes(); }
    void reset_peak() override { cpu_.reset_peak(); }
    std::int64_t footprint(std::int64_t bytes) const override {
        return (bytes + granularity - 1) / granularity * granularity;
    }
    std::int64_t library_workspace() const override { return workspace; }
    void synchronize() override {}
    std::int64_t now() override { return cpu_.now(); }
    std::unique_ptr<Marks> marks(std::size_t most) override { return cpu_.marks(most); }
    std::unique_ptr<GeneratorState> generator_state() const override { return cpu_.generator_state(); }
    void set_generator_state(const GeneratorState& state) override { cpu_.set_generator_state(state); }
    void seed_generator(std::uint64_t seed) override { cpu_.seed_generator(seed); }
    void copy(c10::Storage& to, const c10::Storage& from) override;

    bool can_capture_graphs() const override { return true; }
    std::unique_ptr<DeviceGraphs> capture_graphs(std::span<const std::function<void()>> parts) override;
    void place_generator(std::int64_t draws) override;

  private:
    class Graphs;
    DeviceRuntime& cpu_;
    std::vector<at::Tensor> untouched_;
    Graphs* capturing_ = nullptr;
};

}  // namespace rematlas::test
