// The rows of two_sided_moments.h about time, on the device and on both links.
#include <algorithm>
#include <utility>

#include "core/bounds/two_sided_moments.h"

namespace rematlas {
std::int64_t TwoSidedMoments::out_time(int tensor) const {
    return least_copy_time(graph_.bytes[tensor], links_.to_host, most_time());
}
std::int64_t TwoSidedMoments::in_time(int tensor) const {
    return least_copy_time(graph_.bytes[tensor], links_.to_device, most_time());
}

void TwoSidedMoments::add_link_rows() {
    for (int k = 0; k <= moments(); ++k) {
        Entries runs;
        for (int op = 0; op < graph_.op_count; ++op) {
            if (runs_[k][op] >= 0) runs.push_back({runs_[k][op], -graph_.time[op]});
        }
        add_time_row(k, k, least_[k], runs);
    }
    for (int k = 1; k <= moments(); ++k) {
        add_out_rows(k);
        add_in_rows(k);
    }
}

/// Adds the row: the sum of W[k] over the windows `first` .. `last` is at least `least` minus the sum of
/// `entries`. W[k] is the time of window k (two_sided_moments.h). So an entry with a negative coefficient
/// raises the least time of these windows.
void TwoSidedMoments::add_time_row(int first, int last, std::int64_t least, Entries& entries) {
    for (int k = first; k <= last; ++k) {
        entries.push_back({time_[k], most_time()});
        least -= least_[k];
    }
    const std::size_t rows = programme_.model.rows();
    programme_.add_row(least, entries);
    if (programme_.model.rows() > rows) time_rows_.push_back({rows, first, last});
}

void TwoSidedMoments::balance(std::span<double> multipliers) const {
    std::vector<double> sum(time_.size(), 0);
    for (const TimeRow& row : time_rows_) {
        for (int k = row.first; k <= row.last; ++k) sum[k] += std::max(multipliers[row.row], 0.0);
    }
    for (const TimeRow& row : time_rows_) {
        const double most = *std::max_element(sum.begin() + row.first, sum.begin() + row.last + 1);
        if (most > 0) multipliers[row.row] /= most;
    }
}

/// Adds a row for each of several sets of copies. Each set holds the copies with the largest margins; from
/// one set to the next, the sum of the copy times grows by about the same amount.
void TwoSidedMoments::add_margin_rows(int first, int last, std::int64_t spent, std::vector<Copy> copies) {
    std::sort(copies.begin(), copies.end(), [](const Copy& a, const Copy& b) { return a.margin > b.margin; });
    double all = 0, so_far = 0;
    for (const Copy& copy : copies) all += static_cast<double>(copy.time);
    int rows = 0;
    Entries entries;
    for (std::size_t i = 0; i < copies.size(); ++i) {
        entries.push_back({copies[i].term, -copies[i].time});
        so_far += static_cast<double>(copies[i].time);
        const bool whole = i + 1 == copies.size();
        if (!whole && (copies[i + 1].margin == copies[i].margin || so_far * margin_rows_ < all * (rows + 1)))
            continue;
        while (so_far * margin_rows_ >= all * (rows + 1) && rows < margin_rows_) ++rows;
        Entries row = entries;
        add_time_row(first, last, spent + copies[i].margin, row);
    }
}

void TwoSidedMoments::add_out_rows(int moment) {
    // Counts only the ops that run before the moment in any case, with or without the copy.
    std::vector<std::uint8_t> before(graph_.op_count);
    for (int op = 0; op < graph_.op_count; ++op)
        before[op] = graph_.required[op] && windows_.last[op] < moment;
    std::vector<Copy> copies;
    for (int t = 0; t < graph_.tensor_count; ++t) {
        if (copied_[moment][t] < 0) continue;
        const std::int64_t release = lineage_.time_until(graph_.producer[t], before);
        copies.push_back({release, out_time(t), copied_[moment][t]});
    }
    add_margin_rows(0, moment - 1, graph_.time[op_of(moment)], std::move(copies));
}

/// Returns the least time from the end of a fetch after the moment to the end of the step. Only the first
/// runs of required users are known to come after the moment, and so after the fetch.
std::int64_t TwoSidedMoments::time_after_fetch(int moment, int tensor) const {
    std::vector<int> users;
    for (int op : graph_.users[tensor]) {
        if (graph_.required[op] && windows_.first[op] >= moment) users.push_back(op);
    }
    return lineage_.time_from(users);
}

void TwoSidedMoments::add_in_rows(int moment) {
    std::vector<Copy> copies;
    Entries all;
    for (int t = 0; t < graph_.tensor_count; ++t) {
        if (fetched_from_[moment][t] >= 0)
            copies.push_back({time_after_fetch(moment, t), in_time(t), fetched_from_[moment][t]});
        for (int k = moment; k <= moments(); ++k) {
            if (fetched_[k][t] >= 0) all.push_back({fetched_[k][t], -in_time(t)});
        }
    }
    add_margin_rows(moment, moments(), 0, std::move(copies));
    if (moment < moments()) add_time_row(moment, moments(), 0, all);
}

/// Adds the columns e[t] of two_sided_moments.h, and the rows e[t] >= ... . A tensor has a column if it can
/// be copied before the last moment, or is read by an op that can run on the host.
Terms TwoSidedMoments::copied_at_all(std::span<const HostOp> host_ops, const Terms& on_host) {
    Terms at_all(graph_.tensor_count, kNever);
    const auto demand = [&](int tensor, Term by) {
        if (by == kNever) return;
        if (at_all[tensor] == kNever) at_all[tensor] = programme_.add_column(0);
        programme_.add_row(0, {{at_all[tensor], 1}, {by, -1}});
    };
    for (int t = 0; t < graph_.tensor_count; ++t) demand(t, copied_[moments()][t]);
    for (std::size_t i = 0; i < host_ops.size(); ++i)
        for (const int t : host_ops[i].inputs) demand(t, on_host[i]);
    return at_all;
}

void TwoSidedMoments::add_host_rows(std::span<const HostOp> host_ops) {
    Terms on_host;
    Entries runs, back;
    std::int64_t least = 0;
    for (const HostOp& op : host_ops) {
        on_host.push_back(programme_.add_column(0));
        runs.push_back({on_host.back(), op.time});
        least += op.time;
        for (const int t : op.back) back.push_back({on_host.back(), -in_time(t)});
    }
    std::vector<Copy> here, out;
    const auto release = [&](int tensor) {
        return lineage_.time_until(graph_.producer[tensor], graph_.required);
    };
    for (std::size_t i = 0; i < host_ops.size(); ++i) {
        std::int64_t ready = 0;
        for (const int t : host_ops[i].inputs) ready = std::max(ready, release(t));
        here.push_back({ready, host_ops[i].host_time, on_host[i]});
    }
    const Terms at_all = copied_at_all(host_ops, on_host);
    for (int t = 0; t < graph_.tensor_count; ++t)
        if (at_all[t] != kNever) out.push_back({release(t), out_time(t), at_all[t]});
    for (int k = 0; k <= moments(); ++k) {
        least += least_[k];
        for (int op = 0; op < graph_.op_count; ++op)
            if (runs_[k][op] >= 0) runs.push_back({runs_[k][op], -graph_.time[op]});
        for (int t = 0; t < graph_.tensor_count; ++t)
            if (fetched_[k][t] >= 0) back.push_back({fetched_[k][t], -in_time(t)});
    }
    add_time_row(0, moments(), least, runs);
    add_time_row(0, moments(), 0, back);
    add_margin_rows(0, moments(), 0, std::move(here));
    add_margin_rows(0, moments(), 0, std::move(out));
}

}  // namespace rematlas
