#include "runtime/transfers/link_clock.h"

#include <cmath>
#include <utility>

namespace rematlas {

void LinkClock::begin() {
    before_ = std::move(started_);
    started_.assign(plan_.steps.size(), -1);
}

void LinkClock::tell(const QueueOrder& order) {
    const auto step = static_cast<std::size_t>(order.step);
    if (order.kind == QueueOrder::Kind::copy) {
        started_[step] = copy(order.queue, plan_.steps[step].tensor());
    } else if (order.kind == QueueOrder::Kind::run) {
        started_[step] = run_on_host(plan_.steps[step].op());
    } else if (order.kind == QueueOrder::Kind::wait_for_work) {
        const int awaited = (order.last_time ? before_ : started_)[step];
        if (order.queue == CopyQueue::compute)
            queues_.wait_for(awaited);
        else
            after_[static_cast<std::size_t>(order.queue)].push_back(awaited);
    }
}

int LinkClock::copy(CopyQueue queue, TensorId tensor) {
    const auto bytes = static_cast<double>(graph_.tensors[tensor].bytes.value);
    const bool out = queue == CopyQueue::out;
    const double speed = out ? links_.to_host_bytes_per_second : links_.to_device_bytes_per_second;
    const double contended =
        out ? links_.to_host_contended_bytes_per_second : links_.to_device_contended_bytes_per_second;
    const auto time = [&](double bytes_per_second) { return std::llround(bytes / bytes_per_second * 1e9); };
    return queues_.add({.queue = out ? SideQueue::to_host : SideQueue::to_device,
                        .alone = time(speed),
                        .contended = time(contended > 0 ? contended : speed),
                        .latency = links_.copy_latency.value,
                        .after = std::exchange(after_[static_cast<std::size_t>(queue)], {}),
                        .label = tensor.value});
}

int LinkClock::run_on_host(OpId op) {
    return queues_.add({.queue = SideQueue::host,
                        .alone = graph_.ops[op].host_time.value_or(Nanoseconds()).value,
                        .after = std::exchange(after_[static_cast<std::size_t>(CopyQueue::host)], {}),
                        .label = op.value});
}

Nanoseconds time_on_links(const Graph& graph, const TransferPlan& plan, const Links& links,
                          std::span<const Nanoseconds> times) {
    LinkClock clock(graph, plan, links);
    clock.begin();
    for (std::size_t step = 0; step <= plan.steps.size(); ++step) {
        for (const QueueOrder& order : plan.first[step]) clock.tell(order);
        if (step < plan.steps.size() && plan.steps[step].runs()) clock.run(times[step]);
    }
    return clock.now();
}

}  // namespace rematlas
