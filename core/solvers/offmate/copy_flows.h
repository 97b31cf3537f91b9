// The rows of a linear program in which bytes leave the device and come back while a sequence of stages runs.
//
//     CopyFlows flows(milp, stages, rates);
//     flows.add({.bytes = sum, .leaves = 3, .returns = 9});     // away in stages 4 .. 8
//     flows.finish(needs, 2e9, 0.01);                           // bytes, and the price of link time
//
// Source: OffMate (Gusak, Zhao, Le Hellard, Li, Eyraud-Dubois, Beaumont, 2024). The paper's program has a
// variable for the fraction of each tensor that each link copies in each stage. The time of a stage is at
// least its compute time and the time of each link. Here each link has one sum of bytes for each stage,
// because it does not matter which tensors the bytes belong to. The link to the host first moves the bytes
// that leave first; the link to the device first moves the bytes that are needed first. So all conditions on
// single tensors follow from two sums: the bytes released so far, and the bytes due from a stage on (as for
// one machine with release times or deadlines).
//
// Columns, for each stage s, besides the caller's columns:
//     time[s]    time of the stage; the sum of these is the objective
//     away[s]    bytes that are away by decision, even if they have not left yet or are already back
//     out[s], in[s]     bytes that the links move during the stage
//     queue[s]   bytes that still wait to leave after the stage
//     early[s]   bytes that came back and are not yet due at s + 1
// Rows, for each stage:
//     away[s] = away[s-1] + (bytes that leave before s) - (bytes that return at s)
//     queue[s] = queue[s-1] + (bytes that leave before s and must be copied) - out[s] >= 0, 0 at the end
//     early[s] = early[s-1] + in[s] - due[s+1] >= 0; due[s+1]: bytes that must be back at s + 1
//     bytes[s] - away[s] + (queue[s] + out[s]) + (early[s] + due[s+1]) <= budget
//               bytes that wait, leave or come back during the stage count for the whole stage
//     (queue[s] + out[s]) + (early[s] + due[s+1]) <= away[s]       no byte comes back before it has left
//     time[s] >= compute[s], and time[s] >= each bound on the time of the copies (`Rates`)
#pragma once

#include <vector>

#include "core/base/links.h"
#include "core/milp/milp.h"

namespace rematlas::offmate {

/// How long the copies of a stage take, in units of the linear program. While both links move bytes, each
/// link has its contended speed. Copies in the two directions can run one after the other or side by side.
/// The lines through these extreme cases are lower bounds on the time of the copies.
struct Rates {
    struct Line {
        double out = 0, in = 0;  ///< time >= out * bytes out + in * bytes in
    };
    std::vector<Line> lines;
    double out = 0, in = 0;  ///< time of a byte while the other link is idle
};

/// Returns the rates. `bytes` and `copies` are the total bytes and the number of all tensors that could be
/// copied; the latency of all copies is spread over these bytes. `byte_scale` and `time_scale`: the units of
/// the linear program for one byte and for one nanosecond.
Rates rates_of(const Links& links, double bytes, double copies, double byte_scale, double time_scale);

class CopyFlows {
  public:
    /// `milp` must outlive the object.
    CopyFlows(MilpModel& milp, int stages, Rates rates);

    struct Item {
        MilpSum bytes;
        int leaves = -1;  ///< the last stage that has the bytes before the gap; -1: none
        int returns = 0;  ///< the first stage that has the bytes after the gap; if none, the stage count
        bool out = true;  ///< whether the bytes must be copied to the host
        bool in = true;   ///< whether the bytes must be copied back
    };
    void add(const Item& item);

    struct Stage {
        MilpSum time, bytes;  ///< compute time; bytes held if nothing is away
    };
    /// Adds the columns and rows of all stages, and returns the columns of the stages' times. To prevent
    /// useless copies, the time that the links are busy, times `price`, is added to the objective.
    std::vector<int> finish(const std::vector<Stage>& stages, double budget, double price);

  private:
    MilpModel& milp_;
    const Rates rates_;
    std::vector<MilpSum> begins_, ends_, released_, due_;  ///< by stage, with one extra entry
};

}  // namespace rematlas::offmate
