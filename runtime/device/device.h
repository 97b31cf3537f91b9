// The interface by which capture and replay use the device on which a step runs.
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
    /// Equal for equal states, and almost never equal for different ones.
    virtual std::uint64_t digest() const = 0;

    /// How often `advance(1)` must be called to get to `later`; nothing if 2^30 calls do not lead there.
    virtual std::optional<std::int64_t> distance_to(const GeneratorState& later) const = 0;
    virtual void advance(std::int64_t draws) = 0;
};

/// Time marks between the ops of a step. Placing a mark does not wait for the device; all marks are read
/// when the step is done.
class Marks {
  public:
    virtual ~Marks() = default;
    virtual void place() = 0;
    /// Nanoseconds of each mark since the first, never descending. Waits for the last mark. May be called
    /// once.
    virtual std::vector<std::int64_t> read() = 0;
};

/// Work that was captured once (CUDA graphs) and is submitted as often as wanted: the same kernels on the
/// same addresses.
class DeviceGraphs {
  public:
    virtual ~DeviceGraphs() = default;
    /// Random ops of the part draw from the generator's present state; the generator does not move.
    virtual void submit(std::size_t part) = 0;
};

/// Numbers of blocks of the allocator that may be larger than the request (see `most_footprint`).
struct LooseBlocks {
    std::int64_t alive = 0;
    std::int64_t most = 0;    ///< the most that were alive at once since the last `reset_peak`
    std::int64_t so_far = 0;  ///< all that were handed out, including those that were given back
    std::int64_t slack = 0;   ///< the bytes by which each of them may be too large
};

/// All of it is in the header, because the library that holds the CUDA runtime is not linked with other
/// code of Rematlas.
class DeviceRuntime : public MemoryMeter {
  public:
    virtual c10::Device device() const = 0;
    virtual std::string name() const = 0;  ///< e.g. "cpu", "NVIDIA H200"
    /// The profile of an absent device; null if the device is present. Nothing runs on an absent device,
    /// and those of its tensors that have values have them in host memory.
    virtual const DeviceProfile* profile_if_absent() const { return nullptr; }

    /// Whether measuring changes nothing that the caller's process sees: `synchronize` may make the process
    /// wait. If measuring is seen, peaks are measured only while a step is recorded or compared.
    virtual bool measures_unseen() const { return true; }
    /// Returns the most bytes of the device that were alive at once since the last call of this function. All
    /// other peaks stay as they are.
    virtual std::int64_t take_step_peak() { return 0; }
    /// The bytes that the process holds of the device; those of them in segments where something is alive;
    /// and the bytes that the process could still get, segments without anything alive included.
    virtual std::int64_t reserved_bytes() const { return alive_bytes(); }
    virtual std::int64_t bytes_of_segments_in_use() const { return alive_bytes(); }
    virtual std::int64_t available_bytes() const { return std::numeric_limits<std::int64_t>::max(); }
    /// Bytes that the process holds beyond `reserved_bytes`: those that the driver needs for itself.
    virtual std::int64_t context_bytes() const { return 0; }
    /// Gives back memory that is reserved and not used.
    virtual void trim() {}
    /// Whether `alive_bytes` counts the memory. It does not count host memory from before the counting
    /// began, or of other owners; nor, for tensors of a GPU, host memory.
    virtual bool counts(const c10::DataPtr& /*memory*/) const { return true; }
    /// The bytes that a request of so many bytes takes.
    virtual std::int64_t footprint(std::int64_t bytes) const { return bytes; }
    /// The most bytes that such a request may take: an allocator may hand out a larger block whole.
    virtual std::int64_t most_footprint(std::int64_t bytes) const { return footprint(bytes); }
    virtual LooseBlocks loose_blocks() const { return {}; }
    /// Bytes that the device's libraries hold for good, which `alive_bytes` counts since the last
    /// `prepare`: for this thread and for autograd's, on the current stream.
    virtual std::int64_t library_workspace() const { return 0; }
    /// Makes the libraries take their workspaces for the current stream. This is cheap if they have them
    /// already.
    virtual void prepare() {}
    /// The description of the device that a graph captured for it contains.
    virtual Device description() const = 0;
    /// The number of multiprocessors on CUDA, on which the random numbers of kernels depend.
    virtual int multiprocessors() const { return 0; }
    /// The settings in force; absent if there is no choice of kernels.
    virtual std::optional<KernelSettings> settings() const { return std::nullopt; }
    /// Changes the settings of the whole process. Only allowed if the process is Rematlas' own:
    /// DeviceOptions::own_process.
    virtual void put_in_force(const KernelSettings&) {}

    /// The memory in which a step can lie in one piece. From the first call on, the allocator serves
    /// requests of steps there.
    virtual std::optional<ArenaMemory> arena_memory() { return std::nullopt; }
    /// A number for the queue to which this thread's work goes. Memory that is used again on the same queue
    /// needs no waiting.
    virtual std::int64_t queue() const { return 0; }

    /// Waits for all submitted work.
    virtual void synchronize() = 0;
    /// A clock in nanoseconds; on an asynchronous device it synchronizes. Between ops, place marks instead.
    virtual std::int64_t now() = 0;
    /// `most`: the number of marks that will be placed.
    virtual std::unique_ptr<Marks> marks(std::size_t most) = 0;

    /// The setting in the environment for the workspace of each matrix product. Empty if the libraries keep
    /// one workspace for all products, which `library_workspace` counts.
    virtual std::string product_workspace() const { return {}; }

    /// The default generator, which random ops draw from.
    virtual std::unique_ptr<GeneratorState> generator_state() const = 0;
    virtual void set_generator_state(const GeneratorState& state) = 0;
    virtual void seed_generator(std::uint64_t seed) = 0;

    /// Copies in this thread's queue. Both are storages of the device or of the host, of equal size; those
    /// of a GPU may look at host memory (runtime/device/copies.h).
    virtual void copy(c10::Storage& to, const c10::Storage& from) = 0;

    virtual bool can_capture_graphs() const { return false; }
    /// Calls the parts in order and captures the work that each submits; the work does not run yet. Later
    /// parts find the tensors that earlier parts leave allocated. The memory that the parts took stays with
    /// the graphs. Errors: throws the exceptions of a part, and throws if the device cannot capture the
    /// work.
    virtual std::unique_ptr<DeviceGraphs> capture_graphs(std::span<const std::function<void()>>) {
        TORCH_CHECK(false, "work on ", name(), " cannot be captured as graphs");
    }
    /// To be called within `capture_graphs`. The next random op will draw as if the generator had moved by
    /// so many draws from its state at submission.
    virtual void place_generator(std::int64_t) {
        TORCH_CHECK(false, "work on ", name(), " cannot be captured as graphs");
    }
};

/// The resident tensor of a graph that stands for DeviceRuntime::library_workspace.
inline constexpr const char* library_workspace_name = "library workspace";

struct DeviceOptions {
    /// True: the process is the planner's. Kernels are deterministic, the allocator's blocks are as large
    /// as the requests, and this thread gets a stream of its own. False: the caller's settings stay as they
    /// are.
    bool own_process = true;
};

/// The CPU with the counting allocator, which must be installed.
std::unique_ptr<DeviceRuntime> cpu_runtime();

/// "cpu", "cuda" (the thread's current device) or "cuda:1". Errors: one line that says what is missing (CUDA
/// was not compiled in, no device, no driver), or which setting of the allocator cannot be planned for.
Result<std::unique_ptr<DeviceRuntime>> open_device(const std::string& name,
                                                   const DeviceOptions& options = {});

}  // namespace rematlas
