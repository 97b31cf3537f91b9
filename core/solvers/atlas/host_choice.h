// Which updates of the optimizer run on the host, so that all are done there by a given time.
//
//     const HostChoice choice(problem, graph.host);            // of all updates that can run there
//     annealing::UpdateChoice some = choice.done_by(1.2 * base_time);
//
// The host works off its updates one after the other, each from when its gradients are there. What it has no
// time for stays with the device, whose links then carry the states there and back. So the two share the
// work, and neither waits for the other (Zero-Infinity, Rajbhandari et al., 2021, gives all of it to the
// host; OffMate, 2024, a share).
#pragma once

#include <vector>

#include "core/base/ids.h"
#include "core/solvers/annealing/host_updates.h"

namespace rematlas {

class HostChoice {
  public:
    HostChoice(const Problem& problem, const annealing::HostUpdates& all);

    /// Returns as many as the host has time for until then. They are spread over the whole of the backward:
    /// the links carry much for updates on the device and little for these, and so their load is even. Cost:
    /// linear, times a few dozen.
    annealing::UpdateChoice done_by(Nanoseconds time) const;

  private:
    struct Update {
        std::int32_t op = -1;
        double ready = 0;  ///< share of the step after which its gradients are made
        double time = 0;   ///< nanoseconds on the host
    };
    struct Chosen {
        std::vector<std::int32_t> ops;
        double work = 0;  ///< nanoseconds
    };
    Chosen within(double time, double backlog) const;

    std::size_t ops_;
    std::vector<Update> updates_;  ///< by when they are ready
};

}  // namespace rematlas
