// Finds when each tensor of a step is read, made and changed, and between which runs it could be on the host.
//
//     const Lifetimes lives(graph, flat, placed_runs, may_leave);
//     std::vector<char> away(lives.gaps.size(), 0);          // a decision for each gap
//     std::vector<std::int64_t> memory = lives.memory(away); // [0]: start; [i + 1]: run i; last: end
//
// Tensors have the same lifetimes as in run sequences (schedule/run_sequence.h): a tensor is kept between two
// events (runs that make, read or change it) if the second event reads it. The time between two such events
// is a gap. A resident also has a gap from the start to its first event and a gap from its last event to the
// end. The resident is on the host in both of these gaps or in neither.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/solvers/offmate/optimizer_ops.h"
#include "core/solving/copies.h"

namespace rematlas::offmate {

constexpr int kStart = -1;  ///< `begin` of a gap that starts with the step

struct Gap {
    std::int32_t tensor = -1;
    std::int32_t begin = kStart, end = 0;  ///< indices of runs; `run_count()` stands for the end of the step
    bool to_end = false;                   ///< whether the gap follows the last event of a resident or a
                                           ///< result
    bool stays_away = false;               ///< whether a tensor that is away in the gap is also away at the
                                           ///< end of the step
    bool forced = false;                   ///< whether the tensor must be away, because an op on the host
                                           ///< makes or changes it
    bool movable = false;  ///< whether the tensor may be away: it may be copied, and there is time for the
                           ///< copies
};

/// How a run on the device uses a tensor, and the gap that follows.
struct Touch {
    enum class Kind : std::uint8_t { read, change, make };
    std::int32_t tensor = -1;
    Kind kind = Kind::read;
    std::int32_t next = -1;  ///< index of the gap; -1 if the tensor is not needed any more
};

/// Which tensors may be on the host, and when.
struct MayLeave {
    MayLeave(const Graph& graph, const Copies& copies)
        : tensors(may_leave(graph, copies)),
          at_the_end(moves_weights(copies.what)),
          ends_there(may_end_on_host(graph, copies)) {}
    IdVector<TensorId, char> tensors;     ///< tensors that may be copied
    bool at_the_end;                      ///< whether residents may be on the host at the end
    IdVector<TensorId, char> ends_there;  ///< results that may be on the host at the end
};

class Lifetimes {
  public:
    /// Keeps references to the graphs. Cost: linear.
    Lifetimes(const Graph& graph, const FlatGraph& flat, std::vector<PlacedRun> runs,
              const MayLeave& may_leave);

    const std::vector<PlacedRun>& runs() const { return runs_; }
    int run_count() const { return static_cast<int>(runs_.size()); }
    /// Returns the touches of a run on the device; empty for a run on the host.
    std::span<const Touch> touches(int run) const {
        return {touches_.data() + begin_[run], static_cast<std::size_t>(begin_[run + 1] - begin_[run])};
    }
    bool is_resident(int tensor) const { return flat_.producer[tensor] < 0; }
    /// `first_gap` returns the gap from the start of the step, which residents have. `last_gap` returns the
    /// gap to the end, which residents and results have. Both return -1 for other tensors.
    std::int32_t first_gap(int tensor) const { return first_gap_[tensor]; }
    std::int32_t last_gap(int tensor) const { return last_gap_[tensor]; }

    /// Says whether some run changes the tensor.
    bool is_changed(int tensor) const { return changed_[tensor]; }
    /// Returns the index of the last run on the host that reads the tensor, or -1.
    std::int32_t last_read_on_host(int tensor) const { return last_on_host_[tensor]; }
    std::int64_t host_time(int run) const { return graph_.ops[OpId(runs_[run].op)].host_time->value; }
    bool runs_in_place(int run) const { return in_place_[run]; }
    /// Returns the bytes that a run needs in addition to its inputs: outputs and workspace, minus the bytes
    /// that are saved by running in place.
    std::int64_t made_bytes(int run) const;

    /// Returns, by gap, whether the tensor must be away.
    std::vector<char> least_away() const;

    /// Returns the bytes on the device at the start, during each run, and at the end, as if copies took no
    /// time. `away`: by gap, whether the tensor is away during the whole gap; must be equal for the first and
    /// the last gap of a resident. Cost: linear.
    std::vector<std::int64_t> memory(const std::vector<char>& away) const;

    std::vector<Gap> gaps;  ///< sorted by their ends

  private:
    /// The latest event of a tensor while the runs are read in order.
    struct Open {
        std::int32_t run = kStart, touch = -1;
        bool there = false;    ///< whether the tensor's value exists, on the device or on the host
        bool on_host = false;  ///< whether an op on the host made the tensor, or changed it after `run`
    };
    void add_device_run(int run, std::vector<char>& has_run);
    void add_host_run(int run);
    std::int32_t close(int tensor, int run);
    void add_end();
    void mark(const MayLeave& may_leave);

    const Graph& graph_;
    const FlatGraph& flat_;
    const std::vector<PlacedRun> runs_;
    std::vector<Touch> touches_;
    std::vector<std::int32_t> begin_{0};
    std::vector<Open> open_;
    std::vector<std::int32_t> first_gap_, last_gap_, last_on_host_;
    std::vector<char> changed_, in_place_;
};

}  // namespace rematlas::offmate
