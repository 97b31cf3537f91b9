#include "core/solvers/hierarchical/equal_blocks.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <tuple>

namespace rematlas::hierarchical {

namespace {

using Hash = std::uint64_t;

/// The finalizer of SplitMix64 (Steele et al., OOPSLA 2014).
Hash mixed(Hash h) {
    h += 0x9e3779b97f4a7c15;
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9;
    h = (h ^ (h >> 27)) * 0x94d049bb133111eb;
    return h ^ (h >> 31);
}
Hash with(Hash hash, Hash more) {
    return mixed(hash ^ mixed(more));
}

/// The hash of a multiset: the order of its items does not matter.
class BagHash {
  public:
    void add(Hash item) { sum_ += mixed(item); }
    Hash value() const { return mixed(sum_); }

  private:
    Hash sum_ = 0;
};

void append(std::string& text, std::int64_t number) {
    text.append(reinterpret_cast<const char*>(&number), sizeof number);
}

class Canonizer {
  public:
    explicit Canonizer(const Subproblem& block) : block_(block), flat_(block.flat) {
        std::vector<std::uint8_t> passed(flat_.tensor_count, 0);
        for (const int t : block.passed_on) passed[t] = 1;
        for (const int t : block.left) passed[t] = 2;
        for (int t = 0; t < flat_.tensor_count; ++t)
            role_.push_back(with(with(static_cast<Hash>(flat_.bytes[t]), passed[t]), flat_.is_result[t]));
        readers_of_given_.resize(block.given.size());
        for (int op = 0; op < flat_.op_count; ++op)
            for (const int t : block.given_inputs[op]) readers_of_given_[given_number(t)].push_back(op);
    }

    CanonicalBlock run() {
        find_hashes();
        find_places();
        CanonicalBlock made;
        for (const int op : order_) {
            made.ops.push_back(op);
            made.times.push_back(flat_.time[op]);
        }
        made.structure = written();
        return made;
    }

  private:
    std::size_t given_number(std::int32_t tensor) const {
        return static_cast<std::size_t>(std::lower_bound(block_.given.begin(), block_.given.end(), tensor) -
                                        block_.given.begin());
    }

    Hash part_of(int op) const { return static_cast<Hash>((op > block_.outside) - (op < block_.outside)); }

    /// Computes the hash of each op in three passes: from the ops before it, from the ops after it, and from
    /// all readers of the given tensors that the op reads.
    void find_hashes() {
        for (int op = 0; op < flat_.op_count; ++op) {
            Hash hash = with(part_of(op), static_cast<Hash>(flat_.workspace[op]));
            hash = with(hash, flat_.required[op] + Hash{2} * flat_.recomputable[op]);
            BagHash inputs, outputs;
            for (const int t : flat_.inputs[op]) inputs.add(with(hash_[flat_.producer[t]], role_[t]));
            for (const int t : flat_.outputs[op]) outputs.add(role_[t]);
            hash = with(with(hash, inputs.value()), outputs.value());
            for (const FlatGraph::Pair& pair : flat_.inplace_pairs(op))
                hash = with(hash, with(role_[pair.out], role_[pair.in]));
            hash_.push_back(with(hash, block_.given_inputs[op].size()));
        }
        for (int op = flat_.op_count; op-- > 0;) {
            BagHash behind;
            for (const int t : flat_.outputs[op])
                for (const int user : flat_.users[t]) behind.add(with(role_[t], hash_[user]));
            hash_[op] = with(hash_[op], behind.value());
        }
        std::vector<Hash> given;
        for (const auto& readers : readers_of_given_) {
            BagHash bag;
            for (const int op : readers) bag.add(hash_[op]);
            given.push_back(bag.value());
        }
        for (int op = 0; op < flat_.op_count; ++op) {
            BagHash bag;
            for (const int t : block_.given_inputs[op]) bag.add(given[given_number(t)]);
            hash_[op] = with(hash_[op], bag.value());
        }
    }

    std::vector<int> places_of_makers(int op) const {
        std::vector<int> places;
        for (const int t : flat_.inputs[op]) places.push_back(place_[flat_.producer[t]]);
        std::sort(places.begin(), places.end());
        return places;
    }

    void find_places() {
        using Next = std::tuple<Hash, std::vector<int>, int>;
        std::priority_queue<Next, std::vector<Next>, std::greater<>> next;
        std::vector<int> lacking(flat_.op_count, 0);
        place_.assign(flat_.op_count, -1);
        for (int op = 0; op < flat_.op_count; ++op) {
            lacking[op] = static_cast<int>(flat_.inputs[op].size());
            if (lacking[op] == 0) next.emplace(hash_[op], std::vector<int>{}, op);
        }
        while (!next.empty()) {
            const int op = std::get<2>(next.top());
            next.pop();
            place_[op] = static_cast<int>(order_.size());
            order_.push_back(op);
            for (const int t : flat_.outputs[op])
                for (const int user : flat_.users[t])
                    if (--lacking[user] == 0) next.emplace(hash_[user], places_of_makers(user), user);
        }
    }

    std::vector<int> places_of(std::span<const std::int32_t> ops) const {
        std::vector<int> places;
        for (const int op : ops) places.push_back(place_[op]);
        std::sort(places.begin(), places.end());
        return places;
    }

    /// Returns the block as text, in which each op is written as its place in `order_`: each op with the
    /// tensors that it makes and their readers, then the in-place pairs, then the readers of each given
    /// tensor.
    std::string written() const {
        std::string text;
        const auto append_places = [&](const std::vector<int>& places) {
            append(text, static_cast<std::int64_t>(places.size()));
            for (const int place : places) append(text, place);
        };
        std::vector<int> number(flat_.tensor_count, -1);
        int tensors = 0;
        for (const int op : order_) {
            append(text, static_cast<std::int64_t>(part_of(op)));
            append(text, flat_.workspace[op]);
            append(text, flat_.required[op] + 2 * flat_.recomputable[op]);
            std::vector<std::tuple<Hash, std::vector<int>, int>> made;
            for (const int t : flat_.outputs[op]) made.emplace_back(role_[t], places_of(flat_.users[t]), t);
            std::sort(made.begin(), made.end());
            append(text, static_cast<std::int64_t>(made.size()));
            for (const auto& [role, readers, t] : made) {
                number[t] = tensors++;
                append(text, flat_.bytes[t]);
                append(text, static_cast<std::int64_t>(role));
                append_places(readers);
            }
        }
        for (const int op : order_) {
            std::vector<std::pair<int, int>> pairs;
            for (const FlatGraph::Pair& pair : flat_.inplace_pairs(op))
                pairs.emplace_back(number[pair.out], number[pair.in]);
            std::sort(pairs.begin(), pairs.end());
            append(text, static_cast<std::int64_t>(pairs.size()));
            for (const auto& [out, in] : pairs) {
                append(text, out);
                append(text, in);
            }
        }
        std::vector<std::vector<int>> given;
        for (const auto& readers : readers_of_given_) given.push_back(places_of(readers));
        std::sort(given.begin(), given.end());
        for (const auto& readers : given) append_places(readers);
        return text;
    }

    const Subproblem& block_;
    const FlatGraph& flat_;
    std::vector<Hash> role_;                          ///< by tensor: hash of its bytes and of its use
    std::vector<std::vector<int>> readers_of_given_;  ///< by index into `Subproblem::given`: ops that read
                                                      ///< the tensor
    std::vector<Hash> hash_;                          ///< by op
    std::vector<int> place_, order_;                  ///< `place_` by op, `order_` by place
};

}  // namespace

CanonicalBlock canonical(const Subproblem& block) {
    return Canonizer(block).run();
}

double times_apart(const std::vector<std::int64_t>& times, const std::vector<std::int64_t>& of) {
    double apart = 0, all = 1;
    for (std::size_t i = 0; i < times.size(); ++i) {
        apart += std::abs(static_cast<double>(times[i] - of[i]));
        all += static_cast<double>(of[i]);
    }
    return apart / all;
}

int EqualBlocks::class_of(const CanonicalBlock& block) {
    std::vector<Member>& members = members_[block.structure];
    for (const Member& member : members)
        if (times_apart(block.times, member.times) <= tolerance_) return member.number;
    members.push_back({size_, block.times});
    return size_++;
}

}  // namespace rematlas::hierarchical
