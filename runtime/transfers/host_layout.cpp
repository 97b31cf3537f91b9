#include "runtime/transfers/host_layout.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "core/addresses/request_plan.h"

namespace rematlas {
namespace {

constexpr std::int64_t kAlignment = 64;  // bytes, for the places in the slab

Error impossible(const Graph& graph, std::size_t at, const Step& step, const char* why) {
    return Error{"step " + std::to_string(at) + ": " + std::string(to_string(step.kind)) + " of " +
                 graph.tensors[step.tensor()].name + ", which " + why};
}

/// Finds places for the tensors on the host. The step that offloads or makes a tensor takes a place in the
/// slab. The place is free again after the last step that needs the bytes. Places that are taken at different
/// times may share memory.
class HostLayout {
  public:
    HostLayout(const Graph& graph, const Homes& homes, TransferPlan& plan)
        : graph_(graph),
          plan_(plan),
          home_(graph.tensors.size(), -1),
          on_host_(graph.tensors.size(), -1),
          ran_(graph.ops.size(), 0) {
        plan_.place.assign(plan.steps.size(), -1);
        const IdVector<TensorId, OpId> producer = producers(graph);
        for (TensorId t : homes.on_host) {
            if (producer[t].valid()) continue;
            take(t, -1);
            home_[t] = on_host_[t];
        }
        at_home_ = homes.on_host;
    }

    Result<void> lay_out() {
        for (at_ = 0; at_ < plan_.steps.size(); ++at_)
            if (Result<void> done = play(plan_.steps[at_]); !done) return done;
        for (TensorId t : at_home_)
            if (on_host_[t] >= 0) plan_.places[on_host_[t]].kept = true;
        pack();
        return {};
    }

  private:
    Result<void> play(const Step& step) {
        switch (step.kind) {
            case StepKind::run:
            case StepKind::run_inplace:
                if (!ran_[step.op()])
                    for (TensorId t : graph_.ops[step.op()].mutates) leave(t);
                ran_[step.op()] = true;
                return {};
            case StepKind::free:
                return {};
            case StepKind::offload:
                if (on_host_[step.tensor()] >= 0)
                    return impossible(graph_, at_, step, "is on the host already");
                take(step.tensor(), static_cast<std::int32_t>(at_));
                plan_.place[at_] = on_host_[step.tensor()];
                return {};
            case StepKind::fetch:
                if (on_host_[step.tensor()] < 0) return impossible(graph_, at_, step, "is not on the host");
                plan_.place[at_] = on_host_[step.tensor()];
                return {};
            case StepKind::drop:
                if (on_host_[step.tensor()] < 0) return impossible(graph_, at_, step, "is not on the host");
                leave(step.tensor());
                return {};
            case StepKind::run_host:
                break;
        }
        return run_on_host(step.op());
    }

    Result<void> run_on_host(OpId id) {
        const Op& op = graph_.ops[id];
        ran_[id] = true;
        HostRun run{.step = static_cast<std::int32_t>(at_)};
        for (TensorId t : op.outputs)
            if (on_host_[t] < 0) take(t, run.step);
        for (const auto* list : {&op.inputs, &op.mutates, &op.outputs}) {
            for (TensorId t : *list) {
                if (on_host_[t] < 0)
                    return Error{"step " + std::to_string(at_) + ": op " + std::to_string(id.value) + " " +
                                 op.name + " runs on the host and reads " + graph_.tensors[t].name +
                                 ", which is not there"};
                const bool again = std::any_of(run.operands.begin(), run.operands.end(),
                                               [&](const auto& other) { return other.tensor == t; });
                if (!again) run.operands.push_back({t, on_host_[t]});
            }
        }
        plan_.host_runs.push_back(std::move(run));
        return {};
    }

    /// Takes a place for the tensor. A tensor whose home is on the host always gets the same place.
    void take(TensorId t, std::int32_t step) {
        if (home_[t] >= 0) {
            on_host_[t] = home_[t];
            return;
        }
        on_host_[t] = static_cast<std::int32_t>(plan_.places.size());
        const std::int64_t bytes = graph_.tensors[t].bytes.value;
        plan_.places.push_back({t, 0, bytes, step, static_cast<std::int32_t>(plan_.steps.size())});
        requests_.push_back({.bytes = bytes, .taken = moments_++});
        held_ += graph_.tensors[t].bytes;
        plan_.host_peak = std::max(plan_.host_peak, held_);
    }
    void leave(TensorId t) {
        const std::int32_t place = on_host_[t];
        on_host_[t] = -1;
        if (place < 0 || place == home_[t]) return;
        plan_.places[place].left = static_cast<std::int32_t>(at_);
        plan_.leaving.emplace_back(static_cast<std::int32_t>(at_), place);
        requests_[place].returned = moments_++;
        held_ -= graph_.tensors[t].bytes;
    }

    /// Packs the places. Homes are adjacent in their order; tensors without bytes can be anywhere.
    void pack() {
        std::vector<Request> requests;
        std::vector<std::int32_t> place_of;
        std::vector<std::int32_t> number(static_cast<std::size_t>(moments_),
                                         0);  ///< first 1 for each moment that is used; after the sum,
                                              ///< the number of used moments up to this one
        for (std::size_t i = 0; i < requests_.size(); ++i) {
            HostPlace& place = plan_.places[i];
            if (place.bytes == 0) continue;
            if (place.taken < 0) {
                place.offset = plan_.home_bytes;
                plan_.home_bytes += (place.bytes + kAlignment - 1) / kAlignment * kAlignment;
                continue;
            }
            requests.push_back(requests_[i]);
            place_of.push_back(static_cast<std::int32_t>(i));
            number[requests_[i].taken] = 1;
            if (requests_[i].returned >= 0) number[requests_[i].returned] = 1;
        }
        std::partial_sum(number.begin(), number.end(), number.begin());
        for (Request& request : requests) {
            request.taken = number[request.taken] - 1;
            if (request.returned >= 0) request.returned = number[request.returned] - 1;
        }
        const RequestPlan packed = plan_requests(requests, {.alignment = kAlignment});
        for (std::size_t i = 0; i < requests.size(); ++i)
            plan_.places[place_of[i]].offset = packed.offsets[i];
        plan_.slab_bytes = packed.arena;
    }

    const Graph& graph_;
    TransferPlan& plan_;
    IdVector<TensorId, std::int32_t> home_, on_host_;  ///< indices of places: the tensor's home, and its
                                                       ///< present place; -1 if there is none
    std::vector<TensorId> at_home_;
    IdVector<OpId, std::uint8_t> ran_;
    std::vector<Request> requests_;  ///< requests for memory, by place
    std::int32_t moments_ = 0;
    Bytes held_;
    std::size_t at_ = 0;
};

}  // namespace

Result<void> lay_out_host(const Graph& graph, const Homes& homes, TransferPlan& plan) {
    return HostLayout(graph, homes, plan).lay_out();
}

}  // namespace rematlas
