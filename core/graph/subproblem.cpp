#include "core/graph/subproblem.h"

#include <algorithm>

namespace rematlas {
namespace {

class SubproblemBuilder {
  public:
    SubproblemBuilder(const FlatGraph& whole, std::span<const std::int32_t> rank,
                      std::span<const std::int32_t> first, std::span<const std::int32_t> second)
        : whole_(whole),
          rank_(rank),
          first_(first),
          second_(second),
          local_op_(whole.op_count, -1),
          local_tensor_(whole.tensor_count, -1) {}

    Subproblem build() {
        for (const std::int32_t op : first_) local_op_[op] = flat_.op_count++;
        if (!second_.empty()) part_.outside = flat_.op_count++;
        for (const std::int32_t op : second_) local_op_[op] = flat_.op_count++;
        add_made_tensors(first_);
        add_received();
        add_made_tensors(second_);
        mark_passed();
        add_signal();
        for (const std::int32_t op : first_) add_op(op);
        if (!second_.empty()) add_outside();
        for (const std::int32_t op : second_) add_op(op);
        add_inplace();
        collect_users(flat_);
        collect_given();
        return std::move(part_);
    }

  private:
    std::int32_t add_tensor(std::int32_t tensor, std::int32_t producer) {
        local_tensor_[tensor] = flat_.tensor_count++;
        part_.tensor_of.push_back(tensor);
        flat_.bytes.push_back(whole_.bytes[tensor]);
        flat_.producer.push_back(producer);
        flat_.is_result.push_back(0);
        return local_tensor_[tensor];
    }

    void add_made_tensors(std::span<const std::int32_t> ops) {
        for (const std::int32_t op : ops)
            for (const std::int32_t t : whole_.outputs[op]) add_tensor(t, local_op_[op]);
    }

    void add_received() {
        for (const std::int32_t op : second_) {
            for (const std::int32_t t : whole_.inputs[op]) {
                const bool made_after = first_.empty() || rank_[whole_.producer[t]] > rank_[first_.back()];
                if (local_op_[whole_.producer[t]] < 0 && local_tensor_[t] < 0 && made_after &&
                    !is_read_first(t))
                    part_.received.push_back(add_tensor(t, part_.outside));
            }
        }
    }

    bool is_read_first(std::int32_t tensor) const {
        const auto users = whole_.users[tensor];
        return std::any_of(users.begin(), users.end(),
                           [&](int user) { return local_op_[user] >= 0 && local_op_[user] < part_.outside; });
    }

    /// Records which tensors of the two parts are read by other ops. For tensors of the first part, also
    /// records whether other ops still read them after the second part begins.
    void mark_passed() {
        const std::int32_t begin = second_.empty() ? -1 : rank_[second_.front()];
        for (int t = 0; t < flat_.tensor_count; ++t) {
            const std::int32_t tensor = part_.tensor_of[t];
            bool read = whole_.is_result[tensor], later = read;
            for (const int user : whole_.users[tensor]) {
                if (local_op_[user] >= 0 || rank_[user] < 0) continue;
                read = true;
                later = later || rank_[user] > begin;
            }
            const bool of_first = part_.outside < 0 || flat_.producer[t] < part_.outside;
            if (of_first && read) part_.passed_on.push_back(t);
            if (flat_.producer[t] > part_.outside && !of_first && read) part_.left.push_back(t);
            flat_.is_result[t] = later;
            if (later) flat_.results.push_back(t);
        }
    }

    /// Adds the signal that lets the second part begin: a tensor of 0 bytes that `outside` makes and every op
    /// of the second part reads.
    void add_signal() {
        if (second_.empty()) return;
        signal_ = flat_.tensor_count++;
        part_.tensor_of.push_back(-1);
        flat_.bytes.push_back(0);
        flat_.producer.push_back(part_.outside);
        flat_.is_result.push_back(0);
    }

    void add_op(std::int32_t op) {
        part_.op_of.push_back(op);
        add_costs(whole_.time[op], whole_.workspace[op], whole_.required[op], whole_.recomputable[op]);
        std::vector<std::int32_t> inputs, outputs, given;
        for (const std::int32_t t : whole_.inputs[op])
            local_tensor_[t] < 0 ? given.push_back(t) : inputs.push_back(local_tensor_[t]);
        for (const std::int32_t t : whole_.outputs[op]) outputs.push_back(local_tensor_[t]);
        if (part_.outside >= 0 && local_op_[op] > part_.outside) inputs.push_back(signal_);
        flat_.inputs.append_sorted(std::move(inputs));
        flat_.outputs.append_sorted(std::move(outputs));
        part_.given_inputs.append_sorted(std::move(given));
    }

    void add_outside() {
        part_.op_of.push_back(-1);
        add_costs(0, 0, 1, 0);
        flat_.inputs.append_sorted(part_.passed_on);
        std::vector<std::int32_t> made = part_.received;
        made.push_back(signal_);
        flat_.outputs.append_sorted(std::move(made));
        part_.given_inputs.append_sorted({});
    }

    void add_costs(std::int64_t time, std::int64_t workspace, std::uint8_t required,
                   std::uint8_t recomputable) {
        flat_.time.push_back(time);
        flat_.workspace.push_back(workspace);
        flat_.required.push_back(required);
        flat_.recomputable.push_back(recomputable);
        flat_.base_time += time;
    }

    /// Adds the in-place pairs of each op. An op runs in place with all of its pairs or with none, so no pair
    /// is added if one input must not be overwritten: a tensor from outside, or a result that cannot be made
    /// again.
    void add_inplace() {
        for (const std::int32_t op : part_.op_of) {
            const auto pairs = op < 0 ? std::span<const FlatGraph::Pair>{} : whole_.inplace_pairs(op);
            const bool possible = std::all_of(pairs.begin(), pairs.end(), [&](const FlatGraph::Pair& pair) {
                const std::int32_t in = local_tensor_[pair.in];
                return in >= 0 && (!flat_.is_result[in] || flat_.recomputable[flat_.producer[in]]);
            });
            for (const FlatGraph::Pair& pair : pairs)
                if (possible)
                    flat_.inplace.push_back({local_tensor_[pair.out], local_tensor_[pair.in], pair.saved});
            flat_.inplace_begin.push_back(static_cast<std::int32_t>(flat_.inplace.size()));
        }
    }

    void collect_given() {
        part_.given = part_.given_inputs.items;
        std::sort(part_.given.begin(), part_.given.end());
        part_.given.erase(std::unique(part_.given.begin(), part_.given.end()), part_.given.end());
    }

    const FlatGraph& whole_;
    const std::span<const std::int32_t> rank_, first_, second_;
    std::vector<std::int32_t> local_op_, local_tensor_;  ///< -1: not in the subproblem
    std::int32_t signal_ = -1;
    Subproblem part_;
    FlatGraph& flat_ = part_.flat;
};

}  // namespace

Subproblem subproblem(const FlatGraph& whole, std::span<const std::int32_t> rank,
                      std::span<const std::int32_t> first, std::span<const std::int32_t> second) {
    return SubproblemBuilder(whole, rank, first, second).build();
}

}  // namespace rematlas
