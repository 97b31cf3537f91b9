#include "core/solvers/atlas/host_choice.h"

#include <algorithm>

#include "core/schedule/run_sequence.h"

namespace rematlas {
namespace {

constexpr double kEnoughWork = 0.98;  // a choice needs this share of the work for which the host has time
constexpr int kHalvings = 20;

}  // namespace

HostChoice::HostChoice(const Problem& problem, const annealing::HostUpdates& all)
    : ops_(problem.graph.ops.size()) {
    const FlatGraph& flat = problem.flat;
    std::vector<double> made(static_cast<std::size_t>(flat.tensor_count), 0);
    double clock = 0;
    for (const std::int32_t op : required_once(flat)) {
        clock += static_cast<double>(flat.time[op]);
        for (const std::int32_t t : flat.outputs[op]) made[static_cast<std::size_t>(t)] = clock;
    }
    for (const annealing::HostUpdates::Run& run : all.runs) {
        Update update{.op = run.op, .time = static_cast<double>(run.time)};
        for (const std::int32_t t : run.inputs)
            update.ready = std::max(update.ready, made[static_cast<std::size_t>(t)] / std::max(clock, 1.0));
        updates_.push_back(update);
    }
    std::stable_sort(updates_.begin(), updates_.end(),
                     [](const Update& a, const Update& b) { return a.ready < b.ready; });
}

HostChoice::Chosen HostChoice::within(double time, double backlog) const {
    Chosen chosen;
    double free = 0;  // time at which the host has done the updates chosen so far
    for (const Update& update : updates_) {
        const double ready = update.ready * time, begins = std::max(free, ready);
        if (begins - ready > backlog || begins + update.time > time) continue;
        chosen.ops.push_back(update.op);
        chosen.work += update.time;
        free = begins + update.time;
    }
    return chosen;
}

annealing::UpdateChoice HostChoice::done_by(Nanoseconds until) const {
    const auto time = static_cast<double>(until.value);
    Chosen chosen = within(time, time);
    const bool has_all = chosen.ops.size() == updates_.size();
    const double enough = has_all ? chosen.work : kEnoughWork * chosen.work;
    double low = 0, high = time;
    for (int i = 0; i < kHalvings; ++i) {
        const double backlog = (low + high) / 2;
        Chosen fewer = within(time, backlog);
        (fewer.work < enough ? low : high) = backlog;
        if (fewer.work >= enough) chosen = std::move(fewer);
    }
    annealing::UpdateChoice choice(ops_, 0);
    for (const std::int32_t op : chosen.ops) choice[static_cast<std::size_t>(op)] = 1;
    return choice;
}

}  // namespace rematlas
