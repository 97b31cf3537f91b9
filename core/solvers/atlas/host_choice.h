// Chooses which updates of the optimizer run on the host, so that the host has done all of them by a given
// time.
//
//     const HostChoice choice(problem, graph.host);            // of all updates that can run there
//     annealing::UpdateChoice some = choice.done_by(Nanoseconds(6 * base_time / 5));
//
// The host runs its updates one after the other, each as soon as its gradients are on the host. Updates for
// which the host has no time stay on the device, and the links copy their states to the device and back. So
// host and device share the work, and neither waits for the other. (In Zero-Infinity, Rajbhandari et al.,
// 2021, the host runs all updates; in OffMate, 2024, a share of them.)
#pragma once

#include <vector>

#include "core/base/ids.h"
#include "core/solvers/annealing/host_updates.h"

namespace rematlas {

class HostChoice {
  public:
    HostChoice(const Problem& problem, const annealing::HostUpdates& all);

    /// Returns a choice of about as many updates as the host can do by `time`. They are spread over the
    /// whole backward pass, so that the load of the links is even: the links carry many bytes for updates on
    /// the device and few bytes for updates on the host. Cost: linear, times a few dozen.
    annealing::UpdateChoice done_by(Nanoseconds time) const;

  private:
    struct Update {
        std::int32_t op = -1;
        double ready = 0;  ///< share of the step's time after which the update's gradients are made
        double time = 0;   ///< nanoseconds on the host
    };
    struct Chosen {
        std::vector<std::int32_t> ops;
        double work = 0;  ///< total nanoseconds on the host
    };
    Chosen within(double time, double backlog) const;

    std::size_t ops_;
    std::vector<Update> updates_;  ///< sorted by `ready`
};

}  // namespace rematlas
