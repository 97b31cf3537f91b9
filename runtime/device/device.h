// What capture and replay ask of the device that the step runs on.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/device.h"
#include "runtime/allocator/arena_memory.h"
#include "runtime/allocator/memory_meter.h"
#include "runtime/device/kernel_settings.h"

namespace rematlas {

struct DeviceProfile;

/// The state of a random number generator at one moment. Takes no memory that the allocator counts.
class GeneratorState {
  public:
    virtual ~GeneratorState() = default;
    virtual bool equals(const GeneratorState& other) const = 0;
    /// Equal for equal states, and as good as never for others.
    virtual std::uint64_t digest() const = 0;

    /// How often `advance(1)` must happen to get to `later`; nothing when that does not lead there within
    /// 2^30.
    virtual std::optional<std::int64_t> distance_to(const GeneratorState& later) const = 0;
    virtual void advance(std::int64_t draws) = 0;
};

/// Marks between the ops of a step. Placing one does not wait for the device; all are read when the step is
/// done.
class Marks {
  public:
    virtual ~Marks() = default;
    virtual void place() = 0;
    /// Nanoseconds of each mark since the first, not descending. Waits for the last. May be called once.
    virtual std::vector<std::int64_t> read() = 0;
};

/// Work that was captured once (CUDA graphs) and is submitted as often as wanted: the same kernels on the
/// same addresses.
class DeviceGraphs {
  public:
    virtual ~DeviceGraphs() = default;
    /// Random ops in it draw from where the generator stands; the generator does not move.
    virtual void submit(std::size_t part) = 0;
};

/// Blocks of the allocator that may be larger than what was asked for, by `most_footprint`: numbers of blocks.
struct LooseBlocks {
    std::int64_t alive = 0;
    std::int64_t most = 0;    ///< alive at once since the last `reset_peak`
    std::int64_t so_far = 0;  ///< handed out, those that were given back included
    std::int64_t slack = 0;   ///< the bytes by which each of them may be too large
};

/// All in the header: the library that holds the CUDA runtime is linked with nothing of ours.
class DeviceRuntime : public MemoryMeter {
  public:
    virtual c10::Device device() const = 0;
    virtual std::string name() const = 0;  ///< e.g. "cpu", "NVIDIA H200"
    /// The profile of a device that is not there; null where the device is there. Nothing runs on a device
    /// that is not there, and those of its tensors that have values have them in host memory.
    virtual const DeviceProfile* profile_if_absent() const { return nullptr; }

    /// Whether measuring changes nothing that the caller's process sees: `synchronize` may make it wait.
    /// Where it does, peaks are measured only while a step is recorded or compared.
    virtual bool measures_unseen() const { return true; }
    /// Returns the most bytes of the device that were alive at once since the last call of this function. All
    /// other peaks stay as they are.
    virtual std::int64_t take_step_peak() { return 0; }
    /// What the process holds of the device; how much of it in segments where something is alive; and what it
    /// could still get, segments without anything alive included.
    virtual std::int64_t reserved_bytes() const { return alive_bytes(); }
    virtual std::int64_t bytes_of_segments_in_use() const { return alive_bytes(); }
    virtual std::int64_t available_bytes() const { return std::numeric_limits<std::int64_t>::max(); }
    /// Held by the process beyond `reserved_bytes`: what the driver needs for itself.
    virtual std::int64_t context_bytes() const { return 0; }
    /// Gives back what is reserved and not used.
    virtual void trim() {}
    /// Whether that memory is in `alive_bytes`: host memory from before the counting began, or of others, is
    /// not; of a GPU's tensors, those that look at host memory are not.
    virtual bool counts(const c10::DataPtr& /*memory*/) const { return true; }
    /// What a request of so many bytes takes.
    virtual std::int64_t footprint(std::int64_t bytes) const { return bytes; }
    /// The most that it may take: an allocator may hand out a larger block whole.
    virtual std::int64_t most_footprint(std::int64_t bytes) const { return footprint(bytes); }
    virtual LooseBlocks loose_blocks() const { return {}; }
    /// Held by the device's libraries for good, in `alive_bytes` since the last `prepare`: for this thread
    /// and for autograd's, on the current stream.
    virtual std::int64_t library_workspace() const { return 0; }
    /// Makes the libraries take their workspaces for the current stream. Cheap where they have them.
    virtual void prepare() {}
    /// What a graph that is captured for it says of it.
    virtual Device description() const = 0;
    /// What kernels draw depends on it: on CUDA the number of multiprocessors.
    virtual int multiprocessors() const { return 0; }
    /// Nothing where there is no choice of kernels.
    virtual std::optional<KernelSettings> settings() const { return std::nullopt; }
    /// For the whole process. Only where it is ours: DeviceOptions::own_process.
    virtual void put_in_force(const KernelSettings&) {}

    /// Where steps can lie in one piece. From the first call on the allocator serves them.
    virtual std::optional<ArenaMemory> arena_memory() { return std::nullopt; }
    /// Names the queue that this thread's work goes to. Memory that is used again there needs no waiting.
    virtual std::int64_t queue() const { return 0; }

    /// Waits for all that was submitted.
    virtual void synchronize() = 0;
    /// A clock in nanoseconds; on an asynchronous device it synchronizes. Between ops, place marks instead.
    virtual std::int64_t now() = 0;
    /// `most`: how many will be placed.
    virtual std::unique_ptr<Marks> marks(std::size_t most) = 0;

    /// How large a workspace each matrix product takes, as the environment says it. Empty where libraries
    /// keep one for all, which `library_workspace` counts.
    virtual std::string product_workspace() const { return {}; }

    /// The default generator, which random ops draw from.
    virtual std::unique_ptr<GeneratorState> generator_state() const = 0;
    virtual void set_generator_state(const GeneratorState& state) = 0;
    virtual void seed_generator(std::uint64_t seed) = 0;

    /// In this thread's queue. Both are storages of the device or of the host, of equal size; those of a GPU
    /// may look at host memory (runtime/device/copies.h).
    virtual void copy(c10::Storage& to, const c10::Storage& from) = 0;

    virtual bool can_capture_graphs() const { return false; }
    /// Calls the parts in order and captures what each submits, which does not run yet. What one part leaves
    /// allocated the later ones find. The memory that the parts took stays with the graphs. Throws what a
    /// part throws, and where the device meets something that cannot be captured.
    virtual std::unique_ptr<DeviceGraphs> capture_graphs(std::span<const std::function<void()>>) {
        TORCH_CHECK(false, "work on ", name(), " cannot be captured as graphs");
    }
    /// Within `capture_graphs`: the next random op draws what it would so many draws after the generator's
    /// state at submission.
    virtual void place_generator(std::int64_t) {
        TORCH_CHECK(false, "work on ", name(), " cannot be captured as graphs");
    }
};

/// The resident tensor of a graph that stands for DeviceRuntime::library_workspace.
inline constexpr const char* library_workspace_name = "library workspace";

struct DeviceOptions {
    /// The process is the planner's: deterministic kernels, an allocator whose blocks are as large as what
    /// was asked for, a stream of its own for this thread. False: the caller's settings stay as they are.
    bool own_process = true;
};

/// The CPU with the counting allocator, which must be installed.
std::unique_ptr<DeviceRuntime> cpu_runtime();

/// "cpu", "cuda" (the thread's current device) or "cuda:1". Errors: one line that says what is missing (CUDA
/// was not compiled in, no device, no driver), or which setting of the allocator cannot be planned for.
Result<std::unique_ptr<DeviceRuntime>> open_device(const std::string& name,
                                                   const DeviceOptions& options = {});

}  // namespace rematlas
