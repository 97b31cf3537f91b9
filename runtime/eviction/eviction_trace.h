// Records the last whole step under online eviction as a graph and a schedule, which the checker accepts
// and the explorer opens.
//
//     if (evictor.record()->has_step()) {
//         Result<EvictedStep> step = finished(evictor.record()->last(), "step", budget, config);
//         write_step(*step, "step");     // step.graph.json, step.schedule.json
//     }
//
// A tensor of the graph is a storage at one version; an op of the graph is a call. Storages that are
// present for the whole step are residents. A storage from before the step that goes within it is made by
// the op `rematlas::before_step`. A storage that something else made within the step, such as a batch of
// data, comes from `rematlas::outside` when an op first reads it. Memory that eviction does not know is one
// resident, `other memory`. An op of an earlier step that runs again is an op of this graph, and so is an
// op that reads a tensor which such an op made anew.
//
// Counted bytes are those that the device's allocator has handed out. The schedule's peak is less than the
// counted peak where a kernel took memory in several pieces and an eviction for a later piece freed more
// than was missing: the file has that eviction before the kernel.
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

/// Ids of tensors and ops are those of the evictor's books, which may use an id again after a step.
class EvictionTrace {
  public:
    struct Called {
        std::string name;
        std::vector<int> inputs, outputs;
        std::vector<std::pair<int, int>> in_place;  ///< output, input
        std::vector<int> changes;                   ///< tensors whose contents change, without a new version
        std::int64_t time = 0, workspace = 0;       ///< nanoseconds, bytes
        bool random = false, recomputable = true;
    };
    struct Span {
        std::int64_t start = 0, end = 0;  ///< nanoseconds of any clock
    };

    /// `places` knows the modules of forward ops from now on; may be null.
    void set_places(Places* places) { places_ = places; }
    void names(int tensor, std::string name, TensorKind kind);

    /// To be called before each op. `alive`: the bytes that are counted now.
    void sees(std::int64_t alive);
    /// To be called when an op reads a storage from outside for the first time. `alive`: the bytes that are
    /// counted now, those of the storage included.
    void met(int tensor, std::int64_t bytes, std::int64_t alive, std::int64_t now);
    /// To be called after an op that only makes a view. No kernel ran, but backward ops may belong to the
    /// view.
    void looked();
    /// `bytes` per output.
    void ran(int op, Called called, const std::vector<std::int64_t>& bytes, Span span);
    void ran_again(int op, bool in_place, Span span);
    void dropped(int tensor, bool evicted, std::int64_t now);

    /// `alive`: the bytes that are counted now; `most`: the most since the last step. A step without any
    /// forward or backward op is not recorded.
    void step_is_over(std::int64_t alive, std::int64_t most);
    bool has_step() const { return !last_.schedule.steps.empty(); }
    /// The last step, without the fields that `finished` adds.
    const EvictedStep& last() const { return last_; }

  private:
    struct There {
        bool here = false;
        TensorId tensor;  ///< its tensor of the graph, if it is here
        std::string name;
        TensorKind kind = TensorKind::activation;
        std::int64_t bytes = 0;
    };
    struct Known {
        Called called;
        std::string module;
        Phase phase = Phase::forward;
        int step = -1;  ///< number of the step whose graph has it as `op`
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
    std::map<std::uint64_t, Origin> by_sequence_;  ///< autograd's numbers of forward ops
    std::string backward_module_;
    EvictedStep now_, last_;
    std::vector<TensorId> leaving_;      ///< tensors that were there before the step and are gone
    std::vector<std::uint8_t> is_made_;  ///< per tensor of the graph
    std::int64_t known_bytes_ = 0;
    std::int64_t other_ = -1;  ///< the least bytes in this step that were alive and not known; -1: no op has
                               ///< begun
    std::int64_t began_ = 0;   ///< time of the first step of the schedule
    int step_ = 0;
    bool saw_forward_ = false, saw_backward_ = false;
};

/// Completes a record: adds its name, its budget and configuration, and its time and peak by the simulator.
Result<EvictedStep> finished(EvictedStep step, const std::string& name, Bytes budget,
                             const nlohmann::json& config);

/// Writes NAME.graph.json and NAME.schedule.json.
Result<void> write_step(EvictedStep& step, const std::filesystem::path& name);

}  // namespace rematlas
