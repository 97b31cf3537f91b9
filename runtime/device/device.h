// The interface through which capture and replay use the device that runs a step.
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

/// The state of a random number generator at one moment. The object takes no memory that the allocator
/// counts.
class GeneratorState {
  public:
    virtual ~GeneratorState() = default;
    virtual bool equals(const GeneratorState& other) const = 0;
    /// Equal states have equal digests. Different states almost always have different digests.
    virtual std::uint64_t digest() const = 0;

    /// Returns how often `advance(1)` must be called to reach `later`, or nullopt if 2^30 calls do not reach
    /// it.
    virtual std::optional<std::int64_t> distance_to(const GeneratorState& later) const = 0;
    virtual void advance(std::int64_t draws) = 0;
};

/// Time marks between the ops of a step. Placing a mark does not wait for the device; all marks are read
/// after the step.
class Marks {
  public:
    virtual ~Marks() = default;
    virtual void place() = 0;
    /// Returns, for each mark, the nanoseconds since the first mark. The values never decrease. Waits for the
    /// last mark. May be called only once.
    virtual std::vector<std::int64_t> read() = 0;
};

/// Work that is captured once (as CUDA graphs) and can be submitted any number of times. Each submission runs
/// the same kernels on the same addresses.
class DeviceGraphs {
  public:
    virtual ~DeviceGraphs() = default;
    /// Submits a part. Its random ops draw from the generator's present state, but do not change this state.
    virtual void submit(std::size_t part) = 0;
};

/// Counts the blocks of the allocator that can be larger than their requests (see `most_footprint`).
struct LooseBlocks {
    std::int64_t alive = 0;
    std::int64_t most = 0;    ///< the largest number alive at once since a peak of the device was last reset
    std::int64_t so_far = 0;  ///< how many were ever handed out, including those that were given back
    std::int64_t slack = 0;   ///< the most bytes by which one block can exceed its request
};

/// All functions are defined in the header, because the library with the CUDA runtime is not linked with
/// other code of Rematlas.
class DeviceRuntime : public MemoryMeter {
  public:
    virtual c10::Device device() const = 0;
    virtual std::string name() const = 0;  ///< e.g. "cpu", "NVIDIA H200"
    /// Returns the profile of an absent device, or null if the device is present. No kernel runs on an absent
    /// device. If a tensor on it has values, they are in host memory.
    virtual const DeviceProfile* profile_if_absent() const { return nullptr; }

    /// Returns false if measuring disturbs the caller's process (`synchronize`, for example, makes it wait).
    /// Then peaks are measured only while a step is recorded or compared.
    virtual bool measures_unseen() const { return true; }
    /// Returns the most device bytes that were alive at once since the last call of this function. All other
    /// peaks stay as they are.
    virtual std::int64_t take_step_peak() { return 0; }
    /// `reserved_bytes`: the device memory that the process holds. `bytes_of_segments_in_use`: the part of
    /// this memory in segments in which anything is alive; of an expandable segment, only the bytes that are
    /// alive. `available_bytes`: the memory that the process could still get, including segments in which
    /// nothing is alive.
    virtual std::int64_t reserved_bytes() const { return alive_bytes(); }
    virtual std::int64_t bytes_of_segments_in_use() const { return alive_bytes(); }
    virtual std::int64_t available_bytes() const { return std::numeric_limits<std::int64_t>::max(); }
    /// Returns the bytes that the process holds beyond `reserved_bytes`, because the driver needs them.
    virtual std::int64_t context_bytes() const { return 0; }
    /// Gives back memory that is reserved but unused.
    virtual void trim() {}
    /// Says whether `alive_bytes` counts the memory. Host memory is not counted if it was allocated before
    /// the counting began or by another allocator; on a GPU host memory is never counted.
    virtual bool counts(const c10::DataPtr& /*memory*/) const { return true; }
    /// Returns the bytes that the allocator takes for a request of `bytes`.
    virtual std::int64_t footprint(std::int64_t bytes) const { return bytes; }
    /// Returns the most bytes that the allocator can take for a request of `bytes`: it can hand out a larger
    /// block without splitting it.
    virtual std::int64_t most_footprint(std::int64_t bytes) const { return footprint(bytes); }
    virtual LooseBlocks loose_blocks() const { return {}; }
    /// Returns the bytes of the workspaces that the device's libraries hold permanently for the current
    /// stream: for this thread and for autograd's thread. After `prepare`, `alive_bytes` includes them.
    virtual std::int64_t library_workspace() const { return 0; }
    /// Makes the libraries take their workspaces for the current stream. Cheap if they have them already.
    virtual void prepare() {}
    /// Returns the description that is written into graphs captured for this device.
    virtual Device description() const = 0;
    /// Returns the number of multiprocessors of a CUDA device; the random numbers of kernels depend on it.
    virtual int multiprocessors() const { return 0; }
    /// Returns the settings in force, or nullopt if the device has no choice of kernels.
    virtual std::optional<KernelSettings> settings() const { return std::nullopt; }
    /// Changes the settings of the whole process. May be called only if the process belongs to Rematlas
    /// (DeviceOptions::own_process).
    virtual void put_in_force(const KernelSettings&) {}

    /// Returns the functions by which arenas (allocator/arena.h) get memory, or nullopt if the device has no
    /// arenas.
    virtual std::optional<ArenaMemory> arena_memory() { return std::nullopt; }
    /// Returns a number that identifies the queue of this thread's work. Memory can be reused on the same
    /// queue without waiting.
    virtual std::int64_t queue() const { return 0; }

    /// Waits for all submitted work.
    virtual void synchronize() = 0;
    /// Returns the time in nanoseconds. On an asynchronous device, calls `synchronize` first; so use `marks`
    /// to measure the time between ops.
    virtual std::int64_t now() = 0;
    /// `most`: an upper limit of the number of marks that will be placed.
    virtual std::unique_ptr<Marks> marks(std::size_t most) = 0;

    /// If the libraries take a workspace for each matrix product, returns their setting in the environment
    /// (CUBLAS_WORKSPACE_CONFIG). Returns an empty text if they keep one workspace for all products, which
    /// `library_workspace` counts.
    virtual std::string product_workspace() const { return {}; }

    /// Returns the state of the default generator, from which random ops draw.
    virtual std::unique_ptr<GeneratorState> generator_state() const = 0;
    virtual void set_generator_state(const GeneratorState& state) = 0;
    virtual void seed_generator(std::uint64_t seed) = 0;

    /// Copies a storage in this thread's queue. The storages must have equal size and belong to the device or
    /// the host; storages of a GPU may use host memory (runtime/device/copies.h).
    virtual void copy(c10::Storage& to, const c10::Storage& from) = 0;

    virtual bool can_capture_graphs() const { return false; }
    /// Calls the parts in order and captures the work that each submits; the work does not run yet. Tensors
    /// that earlier parts leave allocated stay valid for later parts. The graphs keep the memory that the
    /// parts took. Throws the exceptions of a part; also throws if the device cannot capture the work.
    virtual std::unique_ptr<DeviceGraphs> capture_graphs(std::span<const std::function<void()>>) {
        TORCH_CHECK(false, "work on ", name(), " cannot be captured as graphs");
    }
    /// May be called only within `capture_graphs`. The next random op will draw as if the generator had made
    /// `draws` draws since its state at submission.
    virtual void place_generator(std::int64_t) {
        TORCH_CHECK(false, "work on ", name(), " cannot be captured as graphs");
    }
};

/// In a graph, the resident tensor with this name stands for DeviceRuntime::library_workspace.
inline constexpr const char* library_workspace_name = "library workspace";

struct DeviceOptions {
    /// If true, the process belongs to Rematlas: kernels are deterministic, the allocator's blocks are as
    /// large as the requests, and this thread gets its own stream. If false, the caller's settings stay as
    /// they are.
    bool own_process = true;
};

/// Makes the runtime of the CPU. It uses the counting allocator, which must be installed.
std::unique_ptr<DeviceRuntime> cpu_runtime();

/// Opens "cpu", "cuda" (the thread's current device) or "cuda:1". Fails with one line that says what is
/// missing (CUDA was not compiled in, no device, no driver), or which setting of the allocator makes plans
/// impossible.
Result<std::unique_ptr<DeviceRuntime>> open_device(const std::string& name,
                                                   const DeviceOptions& options = {});

}  // namespace rematlas
