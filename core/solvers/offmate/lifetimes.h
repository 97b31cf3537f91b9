// When each tensor of a step is read, made and changed, and between which runs it could be on the host
// instead.
//
//     const Lifetimes lives(graph, flat, placed_runs, may_leave);
//     std::vector<char> away(lives.gaps.size(), 0);          // a decision for each gap
//     std::vector<std::int64_t> memory = lives.memory(away); // [0]: start; [i + 1]: run i; last: end
//
// Lifetimes are those of run sequences (schedule/run_sequence.h): between two events a tensor is kept if the
// second one reads it. Such a stretch is a gap. A resident has one from the start to its first event and one
// from its last event to the end, which go together: in both it is on the host, or in neither.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/solvers/offmate/optimizer_ops.h"
#include "core/solving/copies.h"

namespace rematlas::offmate {

constexpr int kStart = -1;  ///< as the run at which a gap begins

struct Gap {
    std::int32_t tensor = -1;
    std::int32_t begin = kStart, end = 0;  ///< runs; the number of runs: the end of the step
    bool to_end = false;                   ///< from the last event of a resident or of a result
    bool stays_away = false;               ///< if the tensor is away in it, it is away at the end, too
    bool forced = false;                   ///< it must be away: an op on the host makes or changes the tensor
    bool movable = false;  ///< it may be away: copies of the tensor are allowed, and there is time for them
};

/// What a run on the device does to a tensor, and the gap that follows.
struct Touch {
    enum class Kind : std::uint8_t { read, change, make };
    std::int32_t tensor = -1;
    Kind kind = Kind::read;
    std::int32_t next = -1;  ///< gap; -1: the tensor is of no more use
};

/// What may be on the host, and when.
struct MayLeave {
    MayLeave(const Graph& graph, const Copies& copies)
        : tensors(may_leave(graph, copies)),
          at_the_end(moves_weights(copies.what)),
          ends_there(may_end_on_host(graph, copies)) {}
    IdVector<TensorId, char> tensors;     ///< tensors that may be copied
    bool at_the_end;                      ///< residents may live there
    IdVector<TensorId, char> ends_there;  ///< results that may end there
};

class Lifetimes {
  public:
    /// Keeps references to the graphs. Cost: linear.
    Lifetimes(const Graph& graph, const FlatGraph& flat, std::vector<PlacedRun> runs,
              const MayLeave& may_leave);

    const std::vector<PlacedRun>& runs() const { return runs_; }
    int run_count() const { return static_cast<int>(runs_.size()); }
    /// The touches of a run on the device; a run on the host has none.
    std::span<const Touch> touches(int run) const {
        return {touches_.data() + begin_[run], static_cast<std::size_t>(begin_[run + 1] - begin_[run])};
    }
    bool is_resident(int tensor) const { return flat_.producer[tensor] < 0; }
    /// The gap of a resident from the start, and the gap of a resident or a result to the end; else -1.
    std::int32_t first_gap(int tensor) const { return first_gap_[tensor]; }
    std::int32_t last_gap(int tensor) const { return last_gap_[tensor]; }
    bool is_changed(int tensor) const { return changed_[tensor]; }                      ///< by some run
    std::int32_t last_read_on_host(int tensor) const { return last_on_host_[tensor]; }  ///< run, or -1
    std::int64_t host_time(int run) const { return graph_.ops[OpId(runs_[run].op)].host_time->value; }
    bool runs_in_place(int run) const { return in_place_[run]; }
    /// Bytes that a run needs beside what it reads: outputs and workspace, less what running in place saves.
    std::int64_t made_bytes(int run) const;

    /// By gap: whether it is away whatever is decided.
    std::vector<char> least_away() const;

    /// Bytes on the device at the start, during each run, and at the end, if copies took no time and tensors
    /// were away during all of their gaps. `away`: by gap; equal for the first and the last gap of a
    /// resident. Cost: linear.
    std::vector<std::int64_t> memory(const std::vector<char>& away) const;

    std::vector<Gap> gaps;  ///< ascending by their ends

  private:
    /// The last event of a tensor so far.
    struct Open {
        std::int32_t run = kStart, touch = -1;
        bool there = false;    ///< its value is on the device or on the host
        bool on_host = false;  ///< it was made or changed there since
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
