// Records the last whole step under online eviction as a graph and a schedule, which the checker accepts and
// the explorer can open.
//
//     if (evictor.record()->has_step()) {
//         Result<EvictedStep> step = finished(evictor.record()->last(), "step", budget, config);
//         write_step(*step, "step");     // step.graph.json, step.schedule.json
//     }
//
// A tensor of the graph is a storage at one version; an op of the graph is a call. Storages that are present
// during the whole step are residents. A storage that existed before the step and is freed within it is made
// by the op `rematlas::before_step`. A storage that something else made within the step, such as a batch of
// data, is made by `rematlas::outside` when an op first reads it. Memory that the evictor does not know is
// one resident, `other memory`. If an op of an earlier step runs again, it becomes an op of this graph, and
// makes new tensors of the graph. A rerun that reads these new tensors is a further op of the graph.
//
// Counted bytes are the bytes that the device's allocator has handed out. The schedule's peak can be less
// than the counted peak, for two reasons. First, if a kernel takes memory in several pieces, storages can be
// evicted while the kernel runs; in the schedule, these evictions come before the kernel. Second, an eviction
// can free more bytes than are missing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "runtime/model/places.h"
#include "runtime/replay/replay_run.h"

namespace rematlas {

struct EvictedStep {
    Graph graph;
    Schedule schedule;
    std::vector<StepMeasure> measures;  ///< one per step of the schedule
    Bytes counted_peak;
};

/// The ids of tensors and ops are those of the evictor, which can reuse them after a step.
class EvictionTrace {
  public:
    struct Called {
        std::string name;
        std::vector<int> inputs, outputs;
        std::vector<std::pair<int, int>> in_place;  ///< pairs of output and input
        std::vector<int> changes;                   ///< tensors whose contents change without a new version
        std::int64_t time = 0, workspace = 0;       ///< nanoseconds, bytes
        bool random = false, recomputable = true;
    };
    struct Span {
        std::int64_t start = 0, end = 0;  ///< nanoseconds of any clock
    };

    /// `places` gives the modules of forward ops from now on; may be null.
    void set_places(Places* places) { places_ = places; }
    void names(int tensor, std::string name, TensorKind kind);

    /// Must be called before each op. `alive`: the bytes that the allocator counts now.
    void sees(std::int64_t alive);
    /// Must be called when an op first reads a storage that was made outside the evictor. `alive`: the bytes
    /// that the allocator counts now, including the storage.
    void met(int tensor, std::int64_t bytes, std::int64_t alive, std::int64_t now);
    /// Must be called after an op that only makes a view. Such an op runs no kernel, but backward ops can
    /// belong to it.
    void looked();
    /// Must be called after the first run of an op. `bytes`: the bytes of each output.
    void ran(int op, Called called, const std::vector<std::int64_t>& bytes, Span span);
    void ran_again(int op, bool in_place, Span span);
    void dropped(int tensor, bool evicted, std::int64_t now);

    /// Must be called at the end of a step. `alive`: the bytes that the allocator counts now; `most`: the
    /// most bytes that it has counted since the previous step. A step without any forward or backward op is
    /// not recorded.
    void step_is_over(std::int64_t alive, std::int64_t most);
    bool has_step() const { return !last_.schedule.steps.empty(); }
    /// Returns the last step, without the fields that `finished` adds.
    const EvictedStep& last() const { return last_; }

  private:
    struct There {
        bool here = false;
        TensorId tensor;  ///< the tensor of the graph, if `here`
        std::string name;
        TensorKind kind = TensorKind::activation;
        std::int64_t bytes = 0;
    };
    struct Known {
        Called called;
        std::string module;
        Phase phase = Phase::forward;
        int step = -1;  ///< the step, counted from 0, in whose graph the op has the id `op`
        OpId op;
    };
    struct Origin {
        OpId op;  ///< invalid for a view
        std::string module;
    };

    Phase phase_now();
    std::string module_now(std::optional<OpId>& of);
    void play(int op, bool in_place, Span span, std::optional<OpId> of);
    OpId add_op(const Known& known, std::vector<TensorId> inputs);
    TensorId add_tensor(const There& there, bool is_made);
    void appear(int tensor, TensorId as);
    void vanish(There& there);
    There& at(int tensor);
    void add_step(Step step, Span span);
    void end();

    Places* places_ = nullptr;
    std::vector<There> tensors_;
    std::vector<Known> ops_;
    std::map<std::uint64_t, Origin> by_sequence_;  ///< forward ops by autograd's sequence numbers
    std::string backward_module_;
    EvictedStep now_, last_;
    std::vector<TensorId> leaving_;      ///< tensors from before the step that have been freed
    std::vector<std::uint8_t> is_made_;  ///< per tensor of the graph
    std::int64_t known_bytes_ = 0;
    std::int64_t other_ = -1;  ///< the fewest bytes in this step that were alive but unknown to the evictor;
                               ///< -1 before the first op
    std::int64_t began_ = 0;   ///< start of the schedule's first step
    int step_ = 0;
    bool saw_forward_ = false, saw_backward_ = false;
};

/// Completes a record: adds its name, budget and configuration, and the time and peak that the simulator
/// computes.
Result<EvictedStep> finished(EvictedStep step, const std::string& name, Bytes budget,
                             const nlohmann::json& config);

/// Writes NAME.graph.json and NAME.schedule.json.
Result<void> write_step(EvictedStep& step, const std::filesystem::path& name);

}  // namespace rematlas
