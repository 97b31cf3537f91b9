#include "tests/core/support/random_copies.h"

#include <algorithm>
#include <random>

#include "tests/core/support/random_graph.h"

namespace rematlas {
namespace {

class Draw {
  public:
    explicit Draw(std::uint64_t seed) : random_(seed * 6364136223846793005ull + 11) {}
    int upto(int most) { return std::uniform_int_distribution<int>(0, most)(random_); }
    bool chance(double p) { return std::uniform_real_distribution<double>(0, 1)(random_) < p; }

  private:
    std::mt19937_64 random_;
};

/// Writes random steps. Keeps track of where tensors are, roughly by the rules of the format; the simulators
/// decide whether a step is possible.
class StepWriter {
  public:
    StepWriter(const Graph& graph, std::uint64_t seed)
        : graph_(graph),
          draw_(seed),
          producer_(producers(graph)),
          device_(graph.tensors.size(), 0),
          host_(graph.tensors.size(), 0),
          kept_(graph.tensors.size(), 0),
          stays_(graph.tensors.size(), 0),
          ran_(graph.ops.size(), 0) {}

    Schedule write() {
        choose_homes();
        for (OpId op : graph_.ops.ids()) {
            for (int more = draw_.upto(4); more > 0; --more) something();
            if (graph_.ops[op].host_time && draw_.chance(0.5))
                run_on_host(op);
            else
                run(op, draw_.chance(0.5));
        }
        finish();
        if (draw_.chance(0.1)) spoil();
        return std::move(schedule_);
    }

  private:
    bool resident(TensorId t) const { return !producer_[t].valid(); }
    void add(Step step) { schedule_.steps.push_back(step); }
    TensorId any() { return TensorId(draw_.upto(static_cast<int>(graph_.tensors.size()) - 1)); }

    void choose_homes() {
        const double share = draw_.chance(0.3) ? 0 : 0.6;
        for (TensorId t : graph_.tensors.ids()) {
            const auto& results = graph_.results;
            const bool result = std::find(results.begin(), results.end(), t) != results.end();
            device_[t] = resident(t);
            if ((!resident(t) && !result) || !draw_.chance(resident(t) ? share : share / 3)) continue;
            schedule_.homes.on_host.push_back(t);
            kept_[t] = 1;
            if (!resident(t)) continue;
            host_[t] = 1;
            stays_[t] = device_[t] = draw_.chance(0.4);
            if (stays_[t]) schedule_.homes.stays.push_back(t);
        }
        schedule_.homes.cyclic = draw_.chance(0.5);
    }

    void something() {
        const TensorId t = any();
        switch (draw_.upto(3)) {
            case 0:
                return offload(t);
            case 1:
                return free(t);
            case 2:
                return fetch(t);
            default:
                return drop(t);
        }
    }
    void offload(TensorId t) {
        if (!device_[t] || host_[t]) return;
        add(Step::offload(t));
        host_[t] = 1;
    }
    void free(TensorId t) {
        if (!device_[t] || (resident(t) && !host_[t])) return;
        add(Step::free(t));
        device_[t] = 0;
    }
    void fetch(TensorId t) {
        if (device_[t] || !host_[t]) return;
        add(Step::fetch(t));
        device_[t] = 1;
    }
    void drop(TensorId t) {
        if (!host_[t] || (resident(t) && (kept_[t] || !device_[t]))) return;
        add(Step::drop(t));
        host_[t] = 0;
    }

    void bring(TensorId t) {
        if (device_[t]) return;
        if (host_[t]) return fetch(t);
        if (producer_[t].valid()) run(producer_[t], false);
    }

    void run(OpId id, bool in_place) {
        const Op& op = graph_.ops[id];
        for (TensorId t : op.inputs) bring(t);
        for (TensorId t : op.inputs) bring(t);  // again, because making one input can overwrite another input
        if (!ran_[id]) {
            for (TensorId t : op.mutates) {
                bring(t);
                host_[t] = 0;
            }
        }
        in_place = in_place && !op.inplace.empty();
        for (const InplacePair& pair : op.inplace) in_place = in_place && producer_[pair.in].valid();
        add(in_place ? Step::run_inplace(id) : Step::run(id));
        for (const InplacePair& pair : op.inplace) {
            if (in_place) device_[pair.in] = 0;
        }
        for (TensorId t : op.outputs) device_[t] = 1;
        ran_[id] = 1;
    }

    void run_on_host(OpId id) {
        const Op& op = graph_.ops[id];
        for (const auto* list : {&op.inputs, &op.mutates}) {
            for (TensorId t : *list) {
                if (host_[t]) continue;
                bring(t);
                offload(t);
            }
        }
        for (TensorId t : op.mutates) free(t);
        add(Step::run_host(id));
        for (TensorId t : op.outputs) host_[t] = 1;
        ran_[id] = 1;
    }

    void finish() {
        for (TensorId t : graph_.results) {
            if (resident(t)) continue;
            bring(t);
            if (kept_[t]) offload(t);
        }
        for (TensorId t : graph_.tensors.ids()) {
            if (!resident(t)) continue;
            const bool belongs = !kept_[t] || stays_[t];
            if (belongs) bring(t);
            if (kept_[t]) offload(t);
            if (!belongs && (!schedule_.homes.cyclic || draw_.chance(0.9))) free(t);
        }
    }

    void spoil() {
        auto& steps = schedule_.steps;
        const auto at = [&] { return draw_.upto(static_cast<int>(steps.size()) - 1); };
        const int one = at();
        switch (draw_.upto(2)) {
            case 0:
                steps.erase(steps.begin() + one);
                return;
            case 1:
                std::swap(steps[static_cast<std::size_t>(one)], steps[static_cast<std::size_t>(at())]);
                return;
            default:
                steps.insert(steps.begin() + one, Step{static_cast<StepKind>(draw_.upto(6)),
                                                       draw_.upto(static_cast<int>(graph_.tensors.size()))});
        }
    }

    const Graph& graph_;
    Draw draw_;
    IdVector<TensorId, OpId> producer_;
    IdVector<TensorId, char> device_, host_, kept_, stays_;
    IdVector<OpId, char> ran_;
    Schedule schedule_;
};

/// Returns links with which a byte takes a few nanoseconds.
Device random_links(Draw& draw) {
    const auto speed = [&](double most) { return 1e9 / (0.3 + most * draw.upto(8) / 8.0); };
    Device device{.name = "links",
                  .memory = {},
                  .links = {.to_host_bytes_per_second = speed(4), .to_device_bytes_per_second = speed(4)}};
    if (draw.chance(0.6))
        device.links.to_host_contended_bytes_per_second =
            device.links.to_host_bytes_per_second / (1 + draw.upto(7) / 3.0);
    if (draw.chance(0.6))
        device.links.to_device_contended_bytes_per_second =
            device.links.to_device_bytes_per_second / (1 + draw.upto(7) / 3.0);
    device.links.copy_latency = Nanoseconds(draw.chance(0.5) ? 0 : draw.upto(3));
    return device;
}

}  // namespace

Graph random_graph_with_links(std::uint64_t seed) {
    Draw draw(seed);
    Graph graph =
        random_training_graph(seed, {.forward_ops = 1 + draw.upto(3), .run_once = draw.chance(0.3)});
    const auto producer = producers(graph);
    std::vector<TensorId> parameters;
    for (TensorId t : graph.tensors.ids())
        if (!producer[t].valid() && graph.tensors[t].kind == TensorKind::parameter) parameters.push_back(t);
    for (OpId op : graph.ops.ids()) {
        if (graph.ops[op].phase != Phase::forward || !draw.chance(0.2)) continue;
        const TensorId buffer = graph.tensors.push_back({"buffer", Bytes(draw.upto(4)), TensorKind::buffer});
        if (draw.chance(0.5)) graph.ops[op].inputs.push_back(buffer);
        graph.ops[op].mutates = {buffer};
    }
    for (TensorId parameter : parameters) {
        const TensorId state =
            graph.tensors.push_back({"state", Bytes(1 + draw.upto(8)), TensorKind::optimizer_state});
        const TensorId gradient =
            graph.results[static_cast<std::size_t>(draw.upto(static_cast<int>(graph.results.size()) - 1))];
        if (draw.chance(0.4)) {
            Op norm;
            norm.name = "norm";
            norm.time = Nanoseconds(1 + draw.upto(3));
            norm.phase = Phase::optimizer;
            norm.inputs = {parameter};
            norm.outputs = {graph.tensors.push_back({"norm", Bytes(1), TensorKind::activation})};
            norm.host_time = Nanoseconds(draw.upto(40));
            graph.ops.push_back(std::move(norm));
        }
        Op update;
        update.name = "update";
        update.time = Nanoseconds(1 + draw.upto(5));
        update.phase = Phase::optimizer;
        update.inputs = {parameter, state};
        if (gradient != parameter) update.inputs.push_back(gradient);
        update.mutates = {parameter, state};
        if (draw.chance(0.2))
            update.outputs = {graph.tensors.push_back({"norm", Bytes(1), TensorKind::activation})};
        if (draw.chance(0.8)) update.host_time = Nanoseconds(draw.upto(20));
        graph.ops.push_back(std::move(update));
    }
    graph.device = random_links(draw);
    graph.name = "links" + std::to_string(seed);
    return graph;
}

Schedule random_schedule_with_copies(const Graph& graph, std::uint64_t seed) {
    return StepWriter(graph, seed).write();
}

}  // namespace rematlas
