#include "core/checking/check_addresses.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace rematlas {
namespace {

/// The bytes low .. high-1 of the arena and their owner. If `owner` is empty, nobody owns them.
struct Range {
    std::int64_t low = 0, high = 0;
    std::string owner = {};
};

class AddressChecker {
  public:
    AddressChecker(const Graph& graph, const Addresses& addresses) : graph_(graph), addresses_(addresses) {}

    Result<void> run(const std::vector<Step>& steps, bool residents, const Homes& homes) {
        std::set<TensorId> later(homes.on_host.begin(), homes.on_host.end());
        for (TensorId t : homes.stays) later.erase(t);
        for (const Op& op : graph_.ops) later.insert(op.outputs.begin(), op.outputs.end());
        for (TensorId t : graph_.tensors.ids())
            if (residents && !later.contains(t)) take(t, 0);
        for (at_ = 0; at_ < steps.size() && !failure_; ++at_) {
            const Step& step = steps[at_];
            if (step.runs()) play_run(step.op(), step.kind == StepKind::run_inplace);
            if (step.kind == StepKind::free) held_.erase(step.tensor());
            if (step.kind == StepKind::fetch) take(step.tensor(), 0);
        }
        if (next_ < addresses_.offsets.size())
            fail(std::to_string(addresses_.offsets.size()) + " offsets for " + std::to_string(next_) +
                 " lifetimes");
        if (failure_) return *failure_;
        return {};
    }

  private:
    void fail(const std::string& what) {
        if (!failure_)
            failure_ = Error{"addresses, step " + std::to_string(at_) + ": " + what, ErrorKind::negative};
    }

    void play_run(OpId id, bool in_place) {
        const Op& op = graph_.ops[id];
        std::vector<Range> old_copies;
        for (TensorId t : op.outputs) {
            if (!held_.contains(t)) continue;
            old_copies.push_back(held_.at(t));
            held_.erase(t);
        }
        std::map<TensorId, Range> inputs_of;
        for (const InplacePair& pair : op.inplace) {
            if (!in_place || !held_.contains(pair.in)) continue;
            inputs_of[pair.out] = held_.at(pair.in);
            held_.erase(pair.in);
        }
        for (TensorId t : op.outputs) {
            const auto input = inputs_of.find(t);
            const bool over = input != inputs_of.end();
            take(t, over ? input->second.high - input->second.low : 0);
            if (over && held_.at(t).low != input->second.low)
                fail(held_.at(t).owner + " does not start where its input starts");
        }
        Range workspace;
        if (op.workspace.value > 0)
            workspace = claim("the workspace of op " + std::to_string(id.value), op.workspace.value, 0);
        // Old copies of the outputs are held while the op runs, so they must not overlap the new outputs or
        // the workspace. `claim` has compared all other ranges.
        for (const Range& old : old_copies) {
            for (TensorId t : op.outputs) compare(old, held_.at(t));
            compare(old, workspace);
        }
        for (TensorId t : op.outputs)  // from here on an output holds only its own bytes
            held_.at(t).high = held_.at(t).low + graph_.tensors[t].bytes.value;
    }

    void take(TensorId t, std::int64_t at_least) {
        held_[t] = claim("tensor " + std::to_string(t.value), graph_.tensors[t].bytes.value, at_least);
    }

    Range claim(std::string owner, std::int64_t bytes, std::int64_t at_least) {
        owner += " taken at step " + std::to_string(at_);
        if (next_ == addresses_.offsets.size()) {
            fail(owner + " has no place");
            return {};
        }
        const std::int64_t low = addresses_.offsets[next_++].value;
        Range range{low, low + std::max(bytes, at_least), std::move(owner)};
        if (low < 0 || low % addresses_.alignment != 0) fail(range.owner + " is not aligned");
        if (low > addresses_.arena.value || range.high > addresses_.arena.value)
            fail(range.owner + " does not fit in the arena");
        for (const auto& [other, held] : held_) compare(range, held);
        return range;
    }

    void compare(const Range& a, const Range& b) {
        if (!a.owner.empty() && !b.owner.empty() && std::max(a.low, b.low) < std::min(a.high, b.high))
            fail(a.owner + " overlaps " + b.owner);
    }

    const Graph& graph_;
    const Addresses& addresses_;
    std::map<TensorId, Range> held_;
    std::size_t next_ = 0;  ///< index of the next offset
    std::size_t at_ = 0;
    std::optional<Error> failure_;
};

}  // namespace

Result<void> check_addresses(const Graph& graph, const std::vector<Step>& steps, const Addresses& addresses,
                             bool residents, const Homes& homes) {
    if (addresses.alignment < 1)
        return Error{"addresses: the alignment is not positive", ErrorKind::negative};
    return AddressChecker(graph, addresses).run(steps, residents, homes);
}

}  // namespace rematlas
