#include "core/addresses/check_addresses.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

namespace rematlas {
namespace {

/// Bytes low .. high-1 of the arena, and whose they are.
struct Range {
    std::int64_t low = 0, high = 0;
    const Placement* owner = nullptr;
};

class AddressChecker {
  public:
    AddressChecker(const Graph& graph, const AddressPlan& plan, const AddressOptions& options)
        : graph_(graph), plan_(plan), options_(options) {
        for (const Placement& p : plan.placements) {
            if (!planned_.emplace(std::tuple(p.kind, p.id, p.first), &p).second)
                fail(name(p) + " has two places");
        }
        for (const Op& op : graph.ops) made_.insert(op.outputs.begin(), op.outputs.end());
    }

    Result<void> run(const std::vector<Step>& steps) {
        at_ = -1;
        for (TensorId t : graph_.tensors.ids()) {
            if (options_.residents && !made_.contains(t)) take(t, 0);
        }
        for (const Step& step : steps) {
            ++at_;
            if (step.runs()) play_run(graph_.ops[step.op()], step.id, step.kind == StepKind::run_inplace);
            if (step.kind == StepKind::free) release(step.tensor(), at_);
            if (step.kind == StepKind::fetch) take(step.tensor(), 0);
            if (failure_) return *failure_;
        }
        ++at_;
        while (!held_.empty()) release(held_.begin()->first, at_);
        if (used_ != plan_.placements.size())
            fail(std::to_string(plan_.placements.size() - used_) + " placements belong to no step");
        if (failure_) return *failure_;
        return {};
    }

  private:
    void fail(const std::string& what) {
        if (!failure_)
            failure_ = Error{"addresses, step " + std::to_string(at_) + ": " + what, ErrorKind::negative};
    }
    std::string name(const Placement& p) const {
        return (p.kind == Placement::Kind::tensor ? "tensor " : "the workspace of op ") +
               std::to_string(p.id) + " taken at step " + std::to_string(p.first);
    }

    void play_run(const Op& op, std::int32_t id, bool in_place) {
        std::vector<Range> old_copies;
        for (TensorId t : op.outputs) {
            if (!held_.contains(t)) continue;
            old_copies.push_back(held_.at(t));
            release(t, at_ + 1);
        }
        std::map<TensorId, Range> inputs_of;
        for (const InplacePair& pair : op.inplace) {
            if (!in_place || !held_.contains(pair.in)) continue;
            inputs_of[pair.out] = held_.at(pair.in);
            release(pair.in, at_);
        }
        for (TensorId t : op.outputs) {
            const auto input = inputs_of.find(t);
            const bool over = input != inputs_of.end();
            take(t, over ? input->second.high - input->second.low : 0);
            if (over && held_.contains(t) && held_.at(t).low != input->second.low)
                fail(name(*held_.at(t).owner) + " does not start where its input starts");
        }
        Range workspace;
        if (op.workspace.value > 0)
            workspace = claim(Placement::Kind::workspace, id, op.workspace.value, 0, at_ + 1);
        // What is held only while the op runs, against all that is held then; `claim` saw the rest.
        for (const Range& old : old_copies) {
            for (TensorId t : op.outputs) compare(old, held_.contains(t) ? held_.at(t) : Range{});
            compare(old, workspace);
        }
        for (TensorId t : op.outputs) {  // from here on an output is as wide as itself
            if (held_.contains(t)) held_.at(t).high = held_.at(t).low + graph_.tensors[t].bytes.value;
        }
    }

    void take(TensorId t, std::int64_t at_least) {
        const Range range =
            claim(Placement::Kind::tensor, t.value, graph_.tensors[t].bytes.value, at_least, {});
        if (range.owner) held_[t] = range;
    }

    void release(TensorId t, std::int32_t end) {
        const auto range = held_.find(t);
        if (range == held_.end()) return;
        if (range->second.owner->end != end)
            fail(name(*range->second.owner) + " ends at step " + std::to_string(end) + ", not " +
                 std::to_string(range->second.owner->end));
        held_.erase(range);
    }

    Range claim(Placement::Kind kind, std::int32_t id, std::int64_t bytes, std::int64_t at_least,
                std::optional<std::int32_t> end) {
        const auto found = planned_.find({kind, id, at_});
        if (found == planned_.end()) {
            fail((kind == Placement::Kind::tensor ? "tensor " : "the workspace of op ") + std::to_string(id) +
                 " has no place");
            return {};
        }
        ++used_;
        const Placement& p = *found->second;
        const std::int64_t low = p.offset.value;
        const Range range{low, low + std::max(bytes, at_least), &p};
        if (p.bytes.value != bytes) fail(name(p) + " has the wrong size");
        if (end && p.end != *end) fail(name(p) + " has the wrong end");
        if (low < 0 || low % options_.alignment != 0) fail(name(p) + " is not aligned");
        if (range.high > plan_.arena.value) fail(name(p) + " does not fit in the arena");
        for (const auto& [other, held] : held_) compare(range, held);
        return range;
    }

    void compare(const Range& a, const Range& b) {
        if (a.owner && b.owner && std::max(a.low, b.low) < std::min(a.high, b.high))
            fail(name(*a.owner) + " overlaps " + name(*b.owner));
    }

    const Graph& graph_;
    const AddressPlan& plan_;
    const AddressOptions& options_;
    std::map<std::tuple<Placement::Kind, std::int32_t, std::int32_t>, const Placement*> planned_;
    std::set<TensorId> made_;
    std::map<TensorId, Range> held_;
    std::size_t used_ = 0;
    std::int32_t at_ = -1;
    std::optional<Error> failure_;
};

}  // namespace

Result<void> check_addresses(const Graph& graph, const std::vector<Step>& steps, const AddressPlan& plan,
                             const AddressOptions& options) {
    return AddressChecker(graph, plan, options).run(steps);
}

}  // namespace rematlas
