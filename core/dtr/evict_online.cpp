#include "core/dtr/evict_online.h"

#include <algorithm>
#include <limits>

namespace rematlas {
namespace {

class TracePlayer final : public EvictionHost {
  public:
    TracePlayer(const Trace& trace, Bytes budget, const DtrOptions& options,
                const std::function<bool(const DtrOutcome&, double)>& go_on, std::vector<DtrEvent>* events)
        : trace_(trace),
          budget_(budget.value),
          go_on_(go_on),
          events_(events),
          eviction_(*this, {{options.heuristic, options.sample, options.ignore_small, options.seed},
                            options.deallocation}),
          tensors_(trace.tensors.size(), -1),
          rerun_limit_(std::min(0x1p61, (options.thrash - 1) * static_cast<double>(trace.total_time))) {
        outcome_.base_time = trace.total_time;
    }

    DtrOutcome run() {
        while (next_ < trace_.program.size() && outcome_.status == Status::ok) {
            const auto [step, id] = trace_.program[next_++];
            if (!follow(step, id) && outcome_.status == Status::ok) outcome_.status = Status::oom;
        }
        outcome_.time = eviction_.counts().time;
        outcome_.evictions = eviction_.counts().evictions;
        outcome_.rematerializations = eviction_.counts().reruns;
        return std::move(outcome_);
    }

    // Functions that EvictionHost declares.

    bool run_again(int op, bool in_place) override {
        note(DtrEvent::Kind::rerun, op_names_[op]);
        return runs(op, in_place);
    }
    void drop(int storage) override { note(DtrEvent::Kind::drop, storage_names_[storage]); }
    std::int64_t missing(std::int64_t bytes) const override { return eviction_.held() + bytes - budget_; }
    bool goes_on() override {
        if (static_cast<double>(eviction_.counts().rerun_time) > rerun_limit_)
            outcome_.status = Status::thrash;
        // `go_on` is asked only at every 16th eviction and at every 64th run, which is often enough.
        const std::int64_t evictions = eviction_.counts().evictions;
        const bool due =
            evictions != asked_at_eviction_ ? evictions % 16 == 0 : outcome_.runs.size() % 64 == 0;
        asked_at_eviction_ = evictions;
        if (outcome_.status == Status::ok && due && go_on_) ask();
        return outcome_.status == Status::ok;
    }

  private:
    using Status = DtrOutcome::Status;

    bool follow(Trace::Step step, int id) {
        switch (step) {
            case Trace::Step::call:
                return call(id);
            case Trace::Step::retain:
                eviction_.retain(tensors_[id]);
                return true;
            case Trace::Step::release:
                eviction_.release(tensors_[id]);
                return true;
            case Trace::Step::pin:
                return eviction_.pin(tensors_[id]);
            case Trace::Step::freeze:
                return eviction_.freeze(tensors_[id]);
            case Trace::Step::thaw:
                eviction_.thaw(tensors_[id]);
                return true;
            case Trace::Step::lose:
                return eviction_.lose(tensors_[id]);
            case Trace::Step::settle:
                eviction_.settle();
                return true;
        }
        return false;
    }

    bool call(int id) {
        note(DtrEvent::Kind::call, id);
        Trace::Op called = trace_.ops[id];
        for (int& t : called.inputs) t = tensors_[t];
        for (Trace::InPlace& pair : called.in_place) pair.input = tensors_[pair.input];
        const int op = eviction_.declare(called, trace_.outputs_of(id));
        const auto& outputs = eviction_.graph().op(op).outputs;
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            const int tensor = trace_.ops[id].outputs[i];
            tensors_[tensor] = outputs[i];
            name_as(storage_names_, eviction_.graph().tensor(outputs[i]).storage,
                    trace_.tensors[tensor].storage);
        }
        name_as(op_names_, op, id);
        if (!eviction_.begin(eviction_.graph().op(op).inputs)) return false;
        const auto released = [this](int storage) { return releases_ahead(storage_names_[storage]); };
        if (!runs(op, eviction_.runs_in_place(op, released))) return false;
        eviction_.made(op);
        return goes_on();
    }

    /// Frees the bytes that a run takes, and notes the run. Returns false if too few bytes can be freed.
    bool runs(int id, bool in_place) {
        const StorageGraph::Op& op = eviction_.graph().op(id);
        std::int64_t fresh = op.workspace;
        for (int t : op.outputs) {
            const Trace::Tensor& made = eviction_.graph().tensor(t);
            if (!made.view) fresh += eviction_.graph().bytes(made.storage);
        }
        if (in_place) {
            for (const Trace::InPlace& pair : op.in_place) fresh -= pair.bytes;
        }
        if (!eviction_.make_room(fresh)) return false;
        outcome_.peak = std::max(outcome_.peak, Bytes(eviction_.held() + fresh));
        outcome_.runs.push_back(op_names_[id]);
        return true;
    }

    int releases_ahead(int storage) const {
        int releases = 0;
        for (std::size_t i = next_; i < trace_.program.size(); ++i) {
            const auto [step, tensor] = trace_.program[i];
            if (step != Trace::Step::release) break;
            releases += trace_.tensors[tensor].storage == storage;
        }
        return releases;
    }

    void ask() {
        const double done = static_cast<double>(next_) / static_cast<double>(trace_.program.size());
        outcome_.time = eviction_.counts().time;
        outcome_.evictions = eviction_.counts().evictions;
        outcome_.rematerializations = eviction_.counts().reruns;
        if (!go_on_(outcome_, done)) outcome_.status = Status::stopped;
    }

    void note(DtrEvent::Kind kind, int id) {
        if (events_) events_->push_back({kind, id});
    }

    const Trace& trace_;
    std::int64_t budget_;
    const std::function<bool(const DtrOutcome&, double)>& go_on_;
    std::vector<DtrEvent>* events_;
    OnlineEviction eviction_;
    std::vector<int> tensors_;                   // per tensor of the trace: its id in eviction_.graph()
    std::vector<int> op_names_, storage_names_;  // the trace's ids, by id in eviction_.graph()
    DtrOutcome outcome_;
    std::size_t next_ = 0;  // index of the next instruction of the program
    std::int64_t asked_at_eviction_ = 0;
    double rerun_limit_;
};

}  // namespace

DtrOutcome evict_online(const Trace& trace, Bytes budget, const DtrOptions& options,
                        const std::function<bool(const DtrOutcome&, double)>& go_on,
                        std::vector<DtrEvent>* events) {
    return TracePlayer(trace, budget, options, go_on, events).run();
}

Bytes unbounded_peak(const Trace& trace) {
    const Bytes all(std::numeric_limits<std::int64_t>::max() / 2);
    return evict_online(trace, all, {.heuristic = DtrHeuristic::lru, .deallocation = DtrDeallocation::banish})
        .peak;
}

}  // namespace rematlas
