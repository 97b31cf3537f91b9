// Chooses the updates of the optimizer that run on the host, so that the host has done all of them by a
// given time.
//
//     const HostChoice choice(problem, graph.host);            // of all updates that can run there
//     annealing::UpdateChoice some = choice.done_by(Nanoseconds(6 * base_time / 5));
//
// The host runs its updates one after the other, each as soon as its gradients are there. Updates that the
// host has no time for stay on the device, and the links then carry their states there and back. So the two
// share the work, and neither waits for the other (Zero-Infinity, Rajbhandari et al., 2021, gives all of it
// to the host; OffMate, 2024, a share).
#pragma once

#include <vector>

#include "core/base/ids.h"
#include "core/solvers/annealing/host_updates.h"

namespace rematlas {

class HostChoice {
  public:
    HostChoice(const Problem& problem, const annealing::HostUpdates& all);

    /// Returns as many updates as the host has time for until `time`. They are spread over the whole
    /// backward pass, so that the load of the links is even: the links carry much for updates on the device
    /// and little for updates on the host. Cost: linear, times a few dozen.
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
    std::vector<Update> updates_;  ///< in the order in which they are ready
};

}  // namespace rematlas
