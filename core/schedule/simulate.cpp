#include "core/schedule/simulate.h"

#include <algorithm>
#include <cmath>

namespace rematlas {
namespace {

class Simulator {
  public:
    explicit Simulator(const Graph& graph)
        : graph_(graph),
          producer_(producers(graph)),
          places_(graph.tensors.size()),
          run_count_(graph.ops.size(), 0) {
        for (TensorId t : graph.tensors.ids()) {
            if (producer_[t].valid()) continue;
            places_[t].on_device = true;
            alive_ += graph.tensors[t].bytes;
        }
        result_.peak = alive_;
    }

    Result<Simulation> run(const std::vector<Step>& steps) {
        result_.steps.reserve(steps.size());
        for (std::size_t i = 0; i < steps.size(); ++i) {
            StepTrace trace;
            trace.start = now_;
            trace.during = alive_;
            if (Result<void> done = step(steps[i], trace); !done) {
                return Error{"step " + std::to_string(i) + ": " + done.error().message, ErrorKind::negative};
            }
            trace.end = now_;
            trace.after = alive_;
            if (trace.during > result_.peak) {
                result_.peak = trace.during;
                result_.peak_step = i;
            }
            result_.steps.push_back(trace);
        }
        // The step is over when its copies are.
        result_.time = std::max({now_, link_to_host_, link_to_device_});
        return std::move(result_);
    }

  private:
    struct Place {
        bool on_device = false;
        bool on_host = false;    ///< with the value that the tensor has now
        Nanoseconds ready;       ///< when the copy to the device is done
        Nanoseconds host_ready;  ///< when the copy to the host is done
    };

    Result<void> step(const Step& step, StepTrace& trace) {
        const bool known =
            step.runs() ? graph_.ops.contains(step.op()) : graph_.tensors.contains(step.tensor());
        if (!known)
            return Error{std::string(to_string(step.kind)) + " " + std::to_string(step.id) + ": no such " +
                         (step.runs() ? "op" : "tensor")};
        switch (step.kind) {
            case StepKind::run:
                return execute(step.op(), false, trace);
            case StepKind::run_inplace:
                return execute(step.op(), true, trace);
            case StepKind::free:
                return release(step.tensor(), trace);
            case StepKind::offload:
                return offload(step.tensor());
            case StepKind::fetch:
                return fetch(step.tensor(), trace);
        }
        return Error{"unknown step"};
    }

    Result<void> execute(OpId id, bool in_place, StepTrace& trace) {
        const Op& op = graph_.ops[id];
        if (in_place && op.inplace.empty())
            return Error{"op " + std::to_string(id.value) + " cannot run in place"};
        const bool first = run_count_[id]++ == 0;
        if (!first && !op.recomputable)
            return Error{"op " + std::to_string(id.value) + " must run once only"};
        for (TensorId t : op.inputs) {
            if (!places_[t].on_device)
                return Error{"op " + std::to_string(id.value) + " needs " + label(t) +
                             ", which is not on the device"};
            now_ = std::max(now_, places_[t].ready);
        }
        if (first) {
            if (Result<void> done = update(id, op); !done) return done;
        }
        for (TensorId t : op.outputs)
            if (places_[t].on_device) wait_for_copies(t);
        if (in_place)
            for (const InplacePair& pair : op.inplace) wait_for_copies(pair.in);
        trace.start = now_;
        Bytes during = alive_ + op.workspace;
        for (TensorId t : op.outputs) during += graph_.tensors[t].bytes;
        if (in_place) {
            for (const InplacePair& pair : op.inplace) {
                if (!producer_[pair.in].valid())
                    return Error{"op " + std::to_string(id.value) + " would overwrite the resident " +
                                 label(pair.in)};
                during -= std::min(graph_.tensors[pair.out].bytes, graph_.tensors[pair.in].bytes);
                drop(pair.in);
            }
        }
        trace.during = during;
        for (TensorId t : op.outputs) {
            if (places_[t].on_device) drop(t);
            place(t);
        }
        now_ += op.time;
        return {};
    }

    /// Residents that change: no copy may be under way then, and one on the host is of no use afterwards.
    Result<void> update(OpId id, const Op& op) {
        for (TensorId t : op.mutates) {
            if (!places_[t].on_device)
                return Error{"op " + std::to_string(id.value) + " updates " + label(t) +
                             ", which is not on the device"};
            wait_for_copies(t);
            places_[t].on_host = false;
        }
        return {};
    }

    void wait_for_copies(TensorId t) { now_ = std::max({now_, places_[t].ready, places_[t].host_ready}); }

    Result<void> release(TensorId t, StepTrace& trace) {
        if (!places_[t].on_device) return Error{"free of " + label(t) + ", which is not on the device"};
        if (!producer_[t].valid() && !places_[t].on_host)
            return Error{"free of the resident " + label(t) + " without a copy on the host"};
        wait_for_copies(t);
        trace.start = now_;
        drop(t);
        return {};
    }

    Result<void> offload(TensorId t) {
        if (!graph_.device || graph_.device->to_host_bytes_per_second <= 0)
            return Error{"offload: the graph names no link speed to the host"};
        if (!places_[t].on_device) return Error{"offload of " + label(t) + ", which is not on the device"};
        if (places_[t].on_host) return Error{"offload of " + label(t) + ", which is on the host already"};
        const Nanoseconds start = std::max({now_, link_to_host_, places_[t].ready});
        link_to_host_ = start + copy_time(t, graph_.device->to_host_bytes_per_second);
        places_[t].on_host = true;
        places_[t].host_ready = link_to_host_;
        return {};
    }

    Result<void> fetch(TensorId t, StepTrace& trace) {
        if (!graph_.device || graph_.device->to_device_bytes_per_second <= 0)
            return Error{"fetch: the graph names no link speed to the device"};
        if (places_[t].on_device) return Error{"fetch of " + label(t) + ", which is on the device"};
        if (!places_[t].on_host) return Error{"fetch of " + label(t) + ", which has no copy on the host"};
        const Nanoseconds start = std::max({now_, link_to_device_, places_[t].host_ready});
        link_to_device_ = start + copy_time(t, graph_.device->to_device_bytes_per_second);
        place(t);
        places_[t].ready = link_to_device_;
        trace.during = alive_;
        return {};
    }

    void place(TensorId t) {
        places_[t].on_device = true;
        places_[t].ready = Nanoseconds(0);
        alive_ += graph_.tensors[t].bytes;
    }
    void drop(TensorId t) {
        places_[t].on_device = false;
        alive_ -= graph_.tensors[t].bytes;
    }
    Nanoseconds copy_time(TensorId t, double bytes_per_second) const {
        return Nanoseconds(
            std::llround(static_cast<double>(graph_.tensors[t].bytes.value) / bytes_per_second * 1e9));
    }
    std::string label(TensorId t) const {
        return "tensor " + std::to_string(t.value) + " (" + graph_.tensors[t].name + ")";
    }

    const Graph& graph_;
    IdVector<TensorId, OpId> producer_;
    IdVector<TensorId, Place> places_;
    IdVector<OpId, int> run_count_;
    Bytes alive_;
    Nanoseconds now_, link_to_host_, link_to_device_;
    Simulation result_;
};

}  // namespace

Result<Simulation> simulate(const Graph& graph, const std::vector<Step>& steps) {
    return Simulator(graph).run(steps);
}

}  // namespace rematlas
