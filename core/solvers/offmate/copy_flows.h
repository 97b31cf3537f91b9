// The rows of a programme in which bytes leave and come back beside a sequence of stages.
//
//     CopyFlows flows(milp, stages, rates);
//     flows.add({.bytes = sum, .leaves = 3, .returns = 9});     // away in stages 4 .. 8
//     flows.finish(needs, 2e9, 0.01);                           // bytes, and the price of link time
//
// Source: OffMate (Gusak, Zhao, Le Hellard, Li, Eyraud-Dubois, Beaumont, 2024), whose programme has a
// fraction of each tensor on each link in each stage, and a time of each stage that is at least its compute
// and at least what either link needs. Here the bytes on a link are one sum for each stage, because it does
// not matter whose bytes they are. The link to the host moves those bytes first that leave first, and the
// link to the device those that are needed first. All conditions on single tensors then follow from the
// bytes that have been released so far, and those that are due from a stage on (as for one machine with
// release times or deadlines).
//
// Columns, for each stage s, beside those of the caller:
//     time[s]    of the stage; their sum is the objective
//     away[s]    bytes that are away by decision, even if they have not left yet or are back already
//     out[s], in[s]     bytes that the links move during the stage
//     queue[s]   bytes that still wait to leave after it
//     early[s]   bytes that came back and are not due at s + 1
// Rows, for each stage:
//     away[s] = away[s-1] + what leaves before s - what returns at s
//     queue[s] = queue[s-1] + what leaves before s and must be copied - out[s], at least 0, in the end 0
//     early[s] = early[s-1] + in[s] - what is due at s + 1, at least 0
//     bytes[s] - away[s] + (queue[s] + out[s]) + (early[s] + due[s+1]) <= budget
//               bytes that wait to leave, leave or come back during the stage are there for all of it
//     (queue[s] + out[s]) + (early[s] + due[s+1]) <= away[s]       nothing comes back before it has left
//     time[s] >= compute[s], and time[s] >= each way in which both links can be busy (`Rates`)
#pragma once

#include <utility>
#include <vector>

#include "core/base/links.h"
#include "core/milp/milp.h"

namespace rematlas::offmate {

/// A sum of columns and a constant.
struct Sum {
    std::vector<std::pair<int, double>> columns;
    double constant = 0;
    void add(int column, double factor = 1) { columns.emplace_back(column, factor); }
    void add(const Sum& other, double factor = 1);
};

/// Adds the row least <= sum <= most. Columns may occur in the sum more than once.
void add_row(MilpModel& milp, double least, const Sum& sum, double most);

/// The time of a byte each way, in units of the programme. While both links move, each has its contended
/// speed. The time that the copies of a stage take lies between that of one link after the other and that of
/// both side by side; the lines through these corners bound it from below.
struct Rates {
    struct Line {
        double out = 0, in = 0;  ///< time >= out * bytes out + in * bytes in
    };
    std::vector<Line> lines;
    double out = 0, in = 0;  ///< time of a byte while the other link is idle
};

/// `bytes`, `copies`: of all tensors that could be copied, so that each byte gets its share of the latency.
/// Scales: units of the programme for a byte and for a nanosecond.
Rates rates_of(const Links& links, double bytes, double copies, double byte_scale, double time_scale);

class CopyFlows {
  public:
    /// `milp` must outlive it.
    CopyFlows(MilpModel& milp, int stages, Rates rates);

    struct Item {
        Sum bytes;
        int leaves = -1;  ///< the last stage that has the bytes before the gap; -1: none
        int returns = 0;  ///< the first stage that has them again; the number of stages: none
        bool out = true;  ///< the bytes have to be copied to the host
        bool in = true;   ///< and back
    };
    void add(const Item& item);

    struct Stage {
        Sum time, bytes;  ///< time of compute; bytes that are held if nothing is away
    };
    /// Adds the columns and rows of all stages, and returns the columns of the stages' times. `price`: the
    /// objective contains this share of the time that links are busy, so that no copies are made in vain.
    std::vector<int> finish(const std::vector<Stage>& stages, double budget, double price);

  private:
    MilpModel& milp_;
    const Rates rates_;
    std::vector<Sum> begins_, ends_, released_, due_;  ///< by stage, and one more
};

}  // namespace rematlas::offmate
