#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <time.h>

#include <bit>
#include <chrono>
#include <cstring>
#include <mutex>

#include "runtime/allocator/counting_allocator.h"
#include "runtime/device/device.h"

namespace rematlas {
namespace {

struct CpuGeneratorState final : GeneratorState {
    at::mt19937 engine;
    std::optional<float> next_float;
    std::optional<double> next_double;

    bool equals(const GeneratorState& other) const override {
        const auto& state = dynamic_cast<const CpuGeneratorState&>(other);
        const auto mine = engine.data(), theirs = state.engine.data();
        return mine.left_ == theirs.left_ && mine.next_ == theirs.next_ && mine.state_ == theirs.state_ &&
               next_float == state.next_float && next_double == state.next_double;
    }
    std::uint64_t digest() const override {
        const auto data = engine.data();
        std::uint64_t hash = 0x9e3779b97f4a7c15u;
        const auto add = [&](std::uint64_t word) {
            hash = (hash ^ word) * 0xff51afd7ed558ccdu, hash ^= hash >> 32;
        };
        add(static_cast<std::uint64_t>(data.left_)), add(data.next_);
        for (const std::uint32_t word : data.state_) add(word);
        if (next_float) add(std::bit_cast<std::uint32_t>(*next_float) + std::uint64_t{1});
        if (next_double) add(std::bit_cast<std::uint64_t>(*next_double) + 1);
        return hash;
    }
    /// Draws from a copy of the engine until the copy equals the engine of `later`. An engine makes its
    /// numbers in blocks. Once both engines are at the same position in a block, the copy skips whole blocks.
    std::optional<std::int64_t> distance_to(const GeneratorState& later) const override {
        const auto& target = dynamic_cast<const CpuGeneratorState&>(later);
        if (next_float != target.next_float || next_double != target.next_double) return std::nullopt;
        const auto goal = target.engine.data();
        at::mt19937 moving = engine;
        std::int64_t draws = 0, stride = 1;
        while (draws < std::int64_t{1} << 30) {
            const auto now = moving.data();
            if (now.left_ == goal.left_ && now.next_ == goal.next_) {
                if (now.state_ == goal.state_) return draws;
                stride = at::MERSENNE_STATE_N;
            } else if (draws > 2 * at::MERSENNE_STATE_N) {
                return std::nullopt;
            }
            for (std::int64_t i = 0; i < stride; ++i) moving();
            draws += stride;
        }
        return std::nullopt;
    }
    void advance(std::int64_t draws) override {
        for (; draws > 0; --draws) engine();
    }
};

/// Returns the time in nanoseconds. If libtorch uses one thread, returns the computing time of this thread,
/// so that other work on the machine does not count.
std::int64_t clock_now() {
    if (at::get_num_threads() > 1) return std::chrono::steady_clock::now().time_since_epoch().count();
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

class CpuMarks final : public Marks {
  public:
    explicit CpuMarks(std::size_t most) { times_.reserve(most); }
    void place() override { times_.push_back(clock_now()); }
    std::vector<std::int64_t> read() override {
        const std::int64_t first = times_.empty() ? 0 : times_.front();
        for (std::int64_t& time : times_) time -= first;
        return std::move(times_);
    }

  private:
    std::vector<std::int64_t> times_;
};

class CpuRuntime final : public DeviceRuntime {
  public:
    c10::Device device() const override { return c10::DeviceType::CPU; }
    std::string name() const override { return "cpu"; }
    Device description() const override { return {.name = "cpu", .memory = {}, .kind = "cpu"}; }
    std::int64_t alive_bytes() const override {
        return CountingAllocator::alive() - CountingAllocator::apart();
    }
    std::int64_t peak_bytes() const override { return CountingAllocator::peak(); }
    void reset_peak() override { CountingAllocator::reset_peak(); }
    std::int64_t take_step_peak() override { return CountingAllocator::take_step_peak(); }
    bool counts(const c10::DataPtr& memory) const override { return CountingAllocator::counts(memory); }
    std::optional<ArenaMemory> arena_memory() override { return host_memory(); }
    void synchronize() override {}
    std::int64_t now() override { return clock_now(); }
    std::unique_ptr<Marks> marks(std::size_t most) override { return std::make_unique<CpuMarks>(most); }

    std::unique_ptr<GeneratorState> generator_state() const override {
        at::CPUGeneratorImpl* generator = implementation();
        std::lock_guard lock(generator->mutex_);
        auto state = std::make_unique<CpuGeneratorState>();
        state->engine = generator->engine();
        state->next_float = generator->next_float_normal_sample();
        state->next_double = generator->next_double_normal_sample();
        return state;
    }
    void set_generator_state(const GeneratorState& saved) override {
        const auto& state = dynamic_cast<const CpuGeneratorState&>(saved);
        at::CPUGeneratorImpl* generator = implementation();
        std::lock_guard lock(generator->mutex_);
        generator->set_engine(state.engine);
        generator->set_next_float_normal_sample(state.next_float);
        generator->set_next_double_normal_sample(state.next_double);
    }
    void seed_generator(std::uint64_t seed) override {
        at::CPUGeneratorImpl* generator = implementation();
        std::lock_guard lock(generator->mutex_);
        generator->set_current_seed(seed);
    }
    void copy(c10::Storage& to, const c10::Storage& from) override {
        std::memcpy(to.mutable_data(), from.data(), from.nbytes());
    }

  private:
    static at::CPUGeneratorImpl* implementation() {
        return at::check_generator<at::CPUGeneratorImpl>(at::detail::getDefaultCPUGenerator());
    }
};

}  // namespace

std::unique_ptr<DeviceRuntime> cpu_runtime() {
    return std::make_unique<CpuRuntime>();
}

}  // namespace rematlas
