#include "tests/runtime/transfers/byte_machine.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/schedule/homes.h"

namespace rematlas::test {
namespace {

using Bytestring = std::vector<unsigned char>;

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}
std::uint64_t mix(std::uint64_t hash, const Bytestring& bytes) {
    for (unsigned char byte : bytes) hash = mix(hash, byte + 1u);
    return hash;
}
Bytestring fill(std::uint64_t hash, std::size_t bytes) {
    Bytestring made(bytes);
    for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<unsigned char>(mix(hash, i) >> 32);
    return made;
}
Bytestring at_start(const Graph& graph, TensorId t) {
    return fill(mix(7, static_cast<std::uint64_t>(t.value)),
                static_cast<std::size_t>(graph.tensors[t].bytes.value));
}

/// Returns a digest of the id of an op and of all its inputs, except those that the op updates.
template <class Value>
std::uint64_t digest_of_inputs(const Op& op, OpId id, Value&& value) {
    std::uint64_t hash = mix(11, static_cast<std::uint64_t>(id.value));
    for (TensorId t : op.inputs)
        if (std::find(op.mutates.begin(), op.mutates.end(), t) == op.mutates.end())
            hash = mix(hash, value(t));
    return hash;
}

Values reference(const Graph& graph, int repetitions) {
    Values values(graph.tensors.size());
    for (TensorId t : graph.tensors.ids()) values[t] = at_start(graph, t);
    for (; repetitions > 0; --repetitions) {
        for (OpId id : graph.ops.ids()) {
            const Op& op = graph.ops[id];
            const std::uint64_t hash = digest_of_inputs(op, id, [&](TensorId t) { return values[t]; });
            for (TensorId t : op.mutates) values[t] = fill(mix(hash, values[t]), values[t].size());
            for (TensorId t : op.outputs)
                values[t] = fill(mix(hash, static_cast<std::uint64_t>(t.value)), values[t].size());
        }
    }
    return values;
}

}  // namespace

ByteMachine::ByteMachine(const Graph& graph, const Schedule& schedule, const TransferPlan& plan,
                         CopyQueues& copies, AdversarialCopies* watch)
    : graph_(graph),
      homes_(schedule.homes),
      plan_(plan),
      watch_(watch),
      producer_(producers(graph)),
      slab_(static_cast<std::size_t>(plan.slab_bytes + plan.home_bytes) + 1),
      at_(graph.tensors.size(), -1),
      ran_(graph.ops.size(), 0),
      changed_there_(graph.tensors.size(), 0),
      player_(plan, copies, slab_.data(), [this](void* data, std::size_t bytes) { overwrite(data, bytes); }) {
    std::size_t all = 1;
    for (const Tensor& tensor : graph.tensors) all += 2 * static_cast<std::size_t>(tensor.bytes.value);
    device_.resize(all);
    overwrite(slab_.data(), slab_.size());
    const IdVector<TensorId, char> there = on_device_at_start(graph, schedule.homes);
    for (TensorId t : graph.tensors.ids()) {
        if (!there[t]) continue;
        allocate(t);
        writes(t, at_start(graph, t));
    }
    for (std::size_t i = 0; i < plan.places.size() && plan.places[i].taken < 0; ++i) {
        player_.set_home(i, slab_.data() + plan.slab_bytes + plan.places[i].offset);
        const Bytestring value = at_start(graph, plan.places[i].tensor);
        std::copy(value.begin(), value.end(), static_cast<unsigned char*>(player_.place(i)));
    }
    callers_homes();
    overwrite_what_is_free();
}

void ByteMachine::run(LinkClock* clock) {
    begin();
    player_.begin(clock);
    for (std::size_t at = 0; at < plan_.steps.size(); ++at) {
        for (const TransferPause& pause : pauses)
            if (pause.before == at) hand_out(pause);
        step(at, clock);
    }
    player_.end();
    look();
}

void ByteMachine::hand_out(const TransferPause& pause) {
    player_.pause(pause.before);
    for (TensorId t : pause.of)
        if (at_[t] >= 0) writes(t, value_of(t));
}

/// Reads all tensors that the caller gets after a step, on the device and on the host: the results and,
/// unless the schedule is cyclic, the residents. Of the residents of a cyclic schedule, reads only those that
/// an op has updated on the host.
void ByteMachine::look() {
    for (TensorId t : graph_.tensors.ids())
        if (at_[t] >= 0 && !(homes_.cyclic && !producer_[t].valid())) reads(t);
    for (std::size_t i = 0; watch_ && i < plan_.places.size(); ++i) {
        const TensorId t = plan_.places[i].tensor;
        if (plan_.places[i].kept && (!homes_.cyclic || producer_[t].valid() || changed_there_[t]))
            watch_->reads(player_.place(i), static_cast<std::size_t>(plan_.places[i].bytes));
    }
}

/// Frees the tensors that ops made in the previous repetition. If steps are not cyclic, also writes the same
/// values to all residents again, as a caller can do between steps.
void ByteMachine::begin() {
    std::fill(ran_.begin(), ran_.end(), 0);
    for (TensorId t : graph_.tensors.ids())
        if (producer_[t].valid() && at_[t] >= 0) release(t);
    overwrite_what_is_free();  // also overwrites memory that was free before
    if (homes_.cyclic) return;
    for (TensorId t : graph_.tensors.ids())
        if (at_[t] >= 0) writes(t, value_of(t));
    callers_homes();
}

/// Tells the race detection that the caller now writes to the tensors whose home is the host.
void ByteMachine::callers_homes() {
    for (std::size_t i = 0; watch_ && i < plan_.places.size() && plan_.places[i].taken < 0; ++i)
        watch_->writes(player_.place(i), static_cast<std::size_t>(plan_.places[i].bytes));
}

void ByteMachine::step(std::size_t at, LinkClock* clock) {
    const Step& step = plan_.steps[at];
    if (step.kind == StepKind::fetch) allocate(step.tensor());
    if (step.kind == StepKind::offload) changed_there_[step.tensor()] = false;
    const bool copies = plan_.place[at] >= 0;
    void* device = copies ? device_.data() + at_[step.tensor()] : nullptr;
    player_.give(at, device, copies ? bytes_of(step.tensor()) : 0,
                 step.kind == StepKind::run_host ? work_on_host(at) : nullptr);
    if (step.runs()) {
        run_op(step.op(), step.kind == StepKind::run_inplace);
        if (clock) clock->run(graph_.ops[step.op()].time);
    }
    if (step.kind == StepKind::free) {
        release(step.tensor());
        overwrite_what_is_free();  // also overwrites memory that was free before
    }
    player_.leave(at);
}

void ByteMachine::run_op(OpId id, bool in_place) {
    const Op& op = graph_.ops[id];
    for (TensorId t : op.inputs) reads(t);
    const std::uint64_t hash = digest_of_inputs(op, id, [&](TensorId t) { return value_of(t); });
    if (!ran_[id]) {
        for (TensorId t : op.mutates) reads(t), writes(t, fill(mix(hash, value_of(t)), bytes_of(t)));
    }
    ran_[id] = true;
    if (in_place)
        for (const InplacePair& pair : op.inplace) release(pair.in);
    for (TensorId t : op.outputs) {
        const std::ptrdiff_t old = std::exchange(at_[t], -1);
        allocate(t);
        writes(t, fill(mix(hash, static_cast<std::uint64_t>(t.value)), bytes_of(t)));
        if (old >= 0) release_at(t, old);
    }
    overwrite_what_is_free();  // workspaces can use all free memory
}

/// Returns a function that runs the op as `run_op` does, but in host memory.
std::function<void()> ByteMachine::work_on_host(std::size_t at) {
    const OpId id = plan_.steps[at].op();
    const Op& op = graph_.ops[id];
    ran_[id] = true;
    std::map<TensorId, unsigned char*> places;
    const auto access = [&](TensorId t, bool write) {
        if (watch_) watch_->of_next_run.push_back({places.at(t), bytes_of(t), write});
    };
    for (const HostRun::Operand& operand : plan_.host_run(at).operands)
        places[operand.tensor] =
            static_cast<unsigned char*>(player_.place(static_cast<std::size_t>(operand.place)));
    for (TensorId t : op.inputs) access(t, false);
    for (TensorId t : op.mutates) access(t, false), access(t, true), changed_there_[t] = true;
    for (TensorId t : op.outputs) access(t, true);
    return [this, &op, id, places] {
        const auto value = [&](TensorId t) {
            return Bytestring(places.at(t), places.at(t) + static_cast<std::ptrdiff_t>(bytes_of(t)));
        };
        const auto write = [&](TensorId t, std::uint64_t hash) {
            const Bytestring made = fill(hash, bytes_of(t));
            std::copy(made.begin(), made.end(), places.at(t));
        };
        const std::uint64_t hash = digest_of_inputs(op, id, value);
        for (TensorId t : op.mutates) write(t, mix(hash, value(t)));
        for (TensorId t : op.outputs) write(t, mix(hash, static_cast<std::uint64_t>(t.value)));
    };
}

/// Allocates at the lowest address with enough free memory, so freed memory is reused soon.
void ByteMachine::allocate(TensorId t) {
    std::size_t begin = 0;
    for (const auto& [taken, bytes] : taken_) {
        if (begin + bytes_of(t) <= taken) break;
        begin = taken + bytes;
    }
    taken_.emplace(begin, bytes_of(t));
    at_[t] = static_cast<std::ptrdiff_t>(begin);
    held_ += bytes_of(t);
    peak_ = std::max(peak_, held_);
}

void ByteMachine::release(TensorId t) {
    release_at(t, std::exchange(at_[t], -1));
}
void ByteMachine::release_at(TensorId t, std::ptrdiff_t place) {
    overwrite(device_.data() + place, bytes_of(t));
    taken_.erase(static_cast<std::size_t>(place));
    held_ -= bytes_of(t);
}

void ByteMachine::overwrite(void* data, std::size_t bytes) {
    if (watch_) watch_->writes(data, bytes);
    std::memset(data, 0xff, bytes);
}

void ByteMachine::overwrite_what_is_free() {
    std::size_t begin = 0;
    for (const auto& [taken, bytes] : taken_) {
        if (taken > begin) overwrite(device_.data() + begin, taken - begin);
        begin = taken + bytes;
    }
    overwrite(device_.data() + begin, device_.size() - begin);
}

void ByteMachine::reads(TensorId t) {
    if (watch_) watch_->reads(device_.data() + at_[t], bytes_of(t));
}
void ByteMachine::writes(TensorId t, const Bytestring& value) {
    if (watch_) watch_->writes(device_.data() + at_[t], bytes_of(t));
    std::copy(value.begin(), value.end(), device_.begin() + at_[t]);
}
Bytestring ByteMachine::value_of(TensorId t) const {
    return {device_.begin() + at_[t], device_.begin() + at_[t] + static_cast<std::ptrdiff_t>(bytes_of(t))};
}

std::string ByteMachine::difference(int repetitions) {
    player_.settle();
    const Values expected = reference(graph_, repetitions);
    for (TensorId t : graph_.tensors.ids()) {
        const bool result =
            std::find(graph_.results.begin(), graph_.results.end(), t) != graph_.results.end();
        if (!result && producer_[t].valid()) continue;
        if (at_[t] >= 0 && value_of(t) != expected[t]) return graph_.tensors[t].name + " on the device";
    }
    for (std::size_t i = 0; i < plan_.places.size(); ++i) {
        const HostPlace& place = plan_.places[i];
        if (!place.kept) continue;
        const auto* data = static_cast<const unsigned char*>(player_.place(i));
        if (!std::equal(expected[place.tensor].begin(), expected[place.tensor].end(), data))
            return graph_.tensors[place.tensor].name + " on the host";
    }
    return {};
}

}  // namespace rematlas::test
