#include "core/solvers/offmate/copy_flows.h"

#include <utility>

namespace rematlas::offmate {

Rates rates_of(const Links& links, double bytes, double copies, double byte_scale, double time_scale) {
    const double latency = bytes > 0 ? copies * static_cast<double>(links.copy_latency.value) / bytes : 0;
    const auto of = [&](double speed) { return (1e9 / speed + latency) * time_scale / byte_scale; };
    const auto contended = [&](double speed, double alone) { return of(speed > 0 ? speed : alone); };
    Rates rates{
        .lines = {}, .out = of(links.to_host_bytes_per_second), .in = of(links.to_device_bytes_per_second)};
    // The bytes (out, in) that the links can move in one unit of time form a region with these corners:
    // (1/out, 0), (1/out2, 1/in2), (0, 1/in). The lines go through the corners.
    const double out2 = contended(links.to_host_contended_bytes_per_second, links.to_host_bytes_per_second);
    const double in2 =
        contended(links.to_device_contended_bytes_per_second, links.to_device_bytes_per_second);
    rates.lines = {{rates.out, 0}, {0, rates.in}};
    if (rates.out / out2 + rates.in / in2 <= 1) {
        rates.lines.push_back({rates.out, rates.in});  // copies side by side are no faster than in turn
                                                       // other
        return rates;
    }
    rates.lines.push_back({rates.out, (1 - rates.out / out2) * in2});
    rates.lines.push_back({(1 - rates.in / in2) * out2, rates.in});
    return rates;
}

CopyFlows::CopyFlows(MilpModel& milp, int stages, Rates rates) : milp_(milp), rates_(std::move(rates)) {
    for (auto* list : {&begins_, &ends_, &released_, &due_})
        list->resize(static_cast<std::size_t>(stages + 1));
}

void CopyFlows::add(const Item& item) {
    const auto begin = static_cast<std::size_t>(item.leaves + 1),
               end = static_cast<std::size_t>(item.returns);
    begins_[begin].add(item.bytes);
    ends_[end].add(item.bytes);
    if (item.out) released_[begin].add(item.bytes);
    if (item.in) due_[end].add(item.bytes);
}

std::vector<int> CopyFlows::finish(const std::vector<Stage>& stages, double budget, double price) {
    std::vector<int> times;
    int away = -1, queue = -1, early = -1;
    for (std::size_t s = 0; s < stages.size(); ++s) {
        const int time = milp_.add_column({.cost = 1});
        times.push_back(time);
        const int out = milp_.add_column({.cost = price * rates_.out});
        const int in = milp_.add_column({.cost = price * rates_.in});
        const bool last = s + 1 == stages.size();
        const auto follow = [&](int& column, const MilpSum& change, double most) {
            const int next = milp_.add_column({.upper = most});
            MilpSum row;
            row.add(next);
            if (column >= 0) row.add(column, -1);
            row.add(change, -1);
            add_row(milp_, 0, row, 0);
            column = next;
        };
        MilpSum leaving = begins_[s], waiting = released_[s], coming;
        leaving.add(ends_[s], -1);
        waiting.add(out, -1);
        coming.add(in);
        coming.add(due_[s + 1], -1);
        follow(away, leaving, kInfinite);
        follow(queue, waiting, last ? 0 : kInfinite);
        follow(early, coming, kInfinite);
        MilpSum moving;  // bytes that are on the device although they count as away
        moving.add(queue);
        moving.add(out);
        moving.add(early);
        moving.add(due_[s + 1]);
        moving.add(away, -1);
        add_row(milp_, -kInfinite, moving, 0);
        MilpSum held = stages[s].bytes;
        held.add(moving);
        add_row(milp_, -kInfinite, held, budget);
        MilpSum busy = stages[s].time;
        busy.add(time, -1);
        add_row(milp_, -kInfinite, busy, 0);
        for (const Rates::Line& line : rates_.lines) {
            MilpSum copies;
            copies.add(out, line.out);
            copies.add(in, line.in);
            copies.add(time, -1);
            add_row(milp_, -kInfinite, copies, 0);
        }
    }
    return times;
}

}  // namespace rematlas::offmate
