// Dynamic tensor rematerialization: Kirisame et al., ICLR 2021, simulated on a graph whose future it does not
// look at.
//
// Ops are taken in the graph's order. When bytes are short (outputs and workspace of the op that is to run,
// beside what is on the device), the evictable tensor of the least score is dropped; when an op needs a
// dropped tensor, its maker runs again, recursively. The tensors of the ops under way are locked. The runs
// make the answer; their lifetimes as a run sequence are never longer than those of the simulation, so the
// peak may come out below the budget.
//
// Problem class: any graph. An online heuristic, never optimal by proof. Results stay once they are made; ops
// that may run only once keep their outputs until nothing can need them. With eager deallocation a run is in
// place where its input is deallocated right after it. Cost: (evictions) x (tensors on the device) score
// evaluations, about 0.1 s for 10,000 ops with `dtr_eq`; the exact neighbourhoods of `dtr` and `msps` cost
// about ten times more.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "core/base/result.h"
#include "core/solvers/solver.h"

namespace rematlas {

/// What is evicted first: the least score. c: time of the maker; m: bytes; s: simulated time since the last
/// use (section 4.1 and appendix C).
enum class DtrHeuristic {
    dtr_eq,  ///< (c + the classes of evicted neighbours, kept by union-find) / (m s)
    dtr,     ///< (c + evicted ancestors and descendants reached through evicted tensors) / (m s)
    local,   ///< c / (m s)
    lru,     ///< 1 / s
    size,    ///< 1 / m
    msps,    ///< (c + evicted ancestors) / m
    random,
};

/// What happens when the program will not use a tensor again.
enum class DtrDeallocation {
    eager,   ///< it is evicted at once, and may run again
    ignore,  ///< nothing
    banish,  ///< it is freed for ever once no evicted tensor was made from it; the tensors made from it can
             ///< then not be evicted
};

struct DtrOptions {
    DtrHeuristic heuristic = DtrHeuristic::dtr_eq;
    DtrDeallocation deallocation = DtrDeallocation::eager;
    double thrash = 20;      ///< gives up when the time passes this many times the time without recomputation
    std::uint64_t seed = 1;  ///< of the random heuristic
};

/// Options from JSON (null: defaults): {"heuristic": "dtr-eq", "deallocation": "eager", "thrash": 20, "seed":
/// 1}.
Result<DtrOptions> dtr_options(const nlohmann::json* json);

std::unique_ptr<Solver> make_dtr(DtrOptions options = {});

}  // namespace rematlas
