// Handles a call, from its arguments to its results.
#include <c10/util/Exception.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>

#include <algorithm>
#include <utility>

#include "runtime/capture/op_traits.h"
#include "runtime/eviction/evictor.h"

namespace rematlas {
namespace {

/// A step ends after this many calls at the latest. Without this limit, the books of a program that never
/// runs a backward would grow for ever.
constexpr std::int64_t most_calls_a_step = 50'000;

/// If the call only reads an operand on another device, and the operand is at most this large, a copy of the
/// operand is kept with the call. A call with any other operand on another device cannot run again.
constexpr std::size_t most_kept_bytes = 1024;

/// Returns true if the running op makes the gradient of a parameter, or a tensor that becomes one.
bool accumulates_gradient() {
    const auto node = torch::autograd::get_current_node();
    return node && dynamic_cast<const torch::autograd::AccumulateGrad*>(node.get()) != nullptr;
}

/// Says whether a composite operator could read the tensor's values on the host without calling the
/// dispatcher. Such tensors are small and hold integers: lengths, batch sizes, split points.
bool may_be_read_on_the_host(const at::Tensor& tensor) {
    constexpr std::size_t most = 4096;
    return tensor.is_cpu() && tensor.dim() <= 1 && c10::isIntegralType(tensor.scalar_type(), false) &&
           tensor.storage().nbytes() <= most;
}

/// Says whether the tensor is just a storage and a geometry, unlike nested, quantized and sparse tensors.
bool is_plain(const at::Tensor& tensor) {
    return tensor.has_storage() && tensor.layout() == c10::kStrided && !tensor.is_nested() &&
           !tensor.is_quantized();
}

bool covers_storage(const at::Tensor& tensor) {
    return tensor.is_non_overlapping_and_dense() &&
           tensor.numel() * static_cast<std::int64_t>(tensor.element_size()) ==
               static_cast<std::int64_t>(tensor.storage().nbytes());
}

}  // namespace

void Evictor::call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    const std::lock_guard program(program_);
    auto facts = facts_.find(&op.schema());
    if (facts == facts_.end()) facts = facts_.emplace(&op.schema(), facts_of(op)).first;
    Call call{op, facts->second};
    if (call.facts.kind == OpFacts::Kind::looks) return look(call, keys, stack);
    if (call.facts.kind == OpFacts::Kind::copies_lazily) return copy_at_once(keys, stack);

    Engine engine(engine_);
    current_ = op.schema().name();
    let_departed_go();
    let_go_of_dropped();
    const bool backward = torch::autograd::get_current_node() != nullptr;
    // An op that another thread runs during a backward does not end the backward.
    const bool goes_on = backward || std::this_thread::get_id() != opened_by_;
    if ((in_backward_ && !goes_on) || calls_ - calls_at_step_ > most_calls_a_step) step_is_over();
    in_backward_ = backward || (in_backward_ && goes_on);
    ++calls_;
    if (record_) record_->sees(alive());
    read_arguments(call, *stack);
    if (auto items = items_of(call, *stack)) {
        --calls_;
        engine.unlock();
        return call_items(op, keys, *std::move(items), stack);
    }
    make_ready(call);

    std::unique_ptr<StoredCall> stored;
    EvictionTrace::Span span;
    std::int64_t time = 0;
    engine.unlock();
    try {
        if (!call.runs_once) {
            stored = std::make_unique<StoredCall>(op, keys, *stack, std::move(call.places));
            for (const std::size_t argument : call.statistics) stored->leave_out(argument);
            if (call.facts.random) stored->draws_from(device_.generator_state());
        }
        begin_measuring();
        span.start = wall_clock();
        time = run_timed(op, keys, stack);
        span.end = wall_clock();
    } catch (...) {
        engine.lock();
        measures_ = false;
        eviction_.end(call.inputs);
        throw;
    }
    engine.lock();
    note_results(call, *stack, std::move(stored), time, span);
}

void Evictor::look(const Call& call, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    has_inner() ? show(call, keys, stack) : run_kernel(call.op, keys, stack);
    if (record_) {
        const Engine engine(engine_);
        record_->looked();
    }
    if (!torch::autograd::get_current_node() || !accumulates_gradient()) return;
    const Engine engine(engine_);
    for_each_tensor_of(*stack, call.facts.returns, [&](std::size_t, int, const at::Tensor& tensor) {
        if (const int storage = storage_of(tensor); storage >= 0) freeze(storage);
    });
}

/// Runs an op that reads no data itself. Its arguments are made present, because the inner mode can read
/// them.
void Evictor::show(const Call& call, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    Engine engine(engine_);
    let_departed_go();
    std::vector<int> shown;
    for_each_tensor_of(*stack, call.facts.writes.size(), [&](std::size_t, int, const at::Tensor& tensor) {
        if (const int storage = storage_of(tensor); storage >= 0) shown.push_back(known_[storage].tensor);
    });
    current_ = call.op.schema().name();
    if (!eviction_.begin(shown)) fail(current_);
    engine.unlock();
    try {
        run_kernel(call.op, keys, stack);
    } catch (...) {
        engine.lock();
        eviction_.end(shown);
        throw;
    }
    engine.lock();
    eviction_.end(shown);
}

/// Makes a real copy instead of a lazy one. A lazy copy shares its memory until one of the two storages is
/// written, but memory that is evicted must belong to a single storage.
void Evictor::copy_at_once(c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    static const c10::OperatorHandle clone =
        c10::Dispatcher::singleton().findSchemaOrThrow("aten::clone", "");
    stack->emplace_back();  // without a memory format, the strides stay the same
    call(clone, keys, stack);
}

void Evictor::read_arguments(Call& call, const torch::jit::Stack& stack) {
    const std::size_t count = call.facts.writes.size(), base = stack.size() - count;
    const std::string& name = call.op.schema().name();
    const bool writes_again = call.facts.kind == OpFacts::Kind::computes;
    std::vector<c10::ScalarType> types, statistics_types;
    call.runs_once =
        call.facts.kind == OpFacts::Kind::runs_once || call.facts.kind == OpFacts::Kind::takes_memory;
    if (!on_own_queue()) {
        call.elsewhere = call.opaque = call.runs_once = true;
        ++calls_elsewhere_;
    }
    for_each_tensor_of(stack, count, [&](std::size_t argument, int item, const at::Tensor& tensor) {
        StoredCall::Place place{argument, item};
        const HiddenWrite hidden =
            call.facts.may_write_hidden ? hidden_write(name, argument, stack, base) : HiddenWrite::none;
        if (!tensor.defined()) return;
        if (!is_plain(tensor)) {
            call.runs_once = call.opaque = true;
            if (const int storage = storage_of(tensor); storage >= 0)
                call.inputs.push_back(known_[storage].tensor);
            return;
        }
        if (argument == 0 && call.facts.looks_at_first) {
            call.places.push_back(std::move(place));
            return;
        }
        if (hidden == HiddenWrite::statistics) {
            call.statistics.push_back(argument);
            if (const int storage = storage_of(tensor); storage >= 0) call.updated.push_back(storage);
            statistics_types.push_back(tensor.scalar_type());
            return;
        }
        types.push_back(tensor.scalar_type());
        int storage = storage_of(tensor);
        if (storage < 0 && can_be_known(tensor)) storage = make_resident(tensor);
        const bool written = call.facts.writes[argument] || hidden != HiddenWrite::none;
        place.storage = storage;
        if (storage < 0 && tensor.storage().nbytes() > 0) {
            place.kept = !written && tensor.nbytes() <= most_kept_bytes;
            call.runs_once = call.runs_once || !place.kept;
        }
        call.places.push_back(std::move(place));
        if (storage < 0) return;
        call.inputs.push_back(known_[storage].tensor);
        call.runs_once = call.runs_once || known_[storage].lent > 0;
        call.waits = call.waits || (call.elsewhere && !eviction_.is_pinned(storage));
        if (!written) return;
        if (std::find(call.changed.begin(), call.changed.end(), storage) != call.changed.end() ||
            std::find(call.lost.begin(), call.lost.end(), storage) != call.lost.end())
            return;
        const Known& known = known_[storage];
        const bool refills =
            known.unfilled && writes_again && call.facts.overwrites && covers_storage(tensor);
        if (refills) call.refilled.push_back(storage);
        (refills || !eviction_.is_pinned(storage) ? call.changed : call.lost).push_back(storage);
    });
    // A rerun gets no running statistics. The type of the tensors that the kernel saves is then the type of
    // another argument. If no other argument has the type of the statistics, the op cannot run again.
    for (const c10::ScalarType type : statistics_types)
        if (std::find(types.begin(), types.end(), type) == types.end()) call.runs_once = true;
    if (!call.runs_once) return;
    // The old contents of changed storages are lost for good. So the results of the call and the new versions
    // are not evicted.
    call.lost.insert(call.lost.end(), call.changed.begin(), call.changed.end());
    call.changed.clear();
    call.refilled.clear();
}

/// Must be called before the contents of the storage change. Tensors that were made from the old contents are
/// no longer evicted, because a rerun would make them from the new contents.
void Evictor::lose(int storage) {
    if (eviction_.graph().readers(storage).empty()) return;
    note(Trace::Step::lose, storage);
    if (!eviction_.lose(known_[storage].tensor)) fail(current_);
}

/// Makes the tensors that the call reads present and locks them. Also ensures that no later rerun needs the
/// contents that the call overwrites.
void Evictor::make_ready(const Call& call) {
    for (const int storage : call.updated) freeze(storage), lose(storage);
    for (const int storage : call.lost) lose(storage);
    if (call.runs_once)
        for (const int storage : call.lost) freeze(storage);
    if (call.opaque || call.facts.kind == OpFacts::Kind::takes_memory)
        for (const int tensor : call.inputs) freeze(eviction_.graph().tensor(tensor).storage);
    for (const int storage : call.refilled) {
        note(Trace::Step::thaw, storage);
        eviction_.thaw(known_[storage].tensor);
    }
    if (log_) log_->begins();
    if (!eviction_.begin(call.inputs)) {
        for (const int storage : call.refilled) freeze(storage);
        fail(current_);
    }
    if (call.waits) wait_for_own_queue();
    if (!call.elsewhere) return;
    for (const int tensor : call.inputs)
        used_by_this_queue(memory_behind(memory_of(eviction_.graph().tensor(tensor).storage).data_ptr()));
}

/// Must be called after an op has written to the memory of `before`. From here on this memory belongs to the
/// storage `after`.
void Evictor::take_memory_over(int before, int after) {
    known_[after].user = std::exchange(known_[before].user, Known().user);
    note_memory(after, true, true);
    note_memory(before, false, false);
    if (const auto user = known_[after].user.lock())
        if (Ticket* ticket = ticket_of(*user)) ticket->storage = after;
}

void Evictor::note_results(Call& call, const torch::jit::Stack& stack, std::unique_ptr<StoredCall> stored,
                           std::int64_t time, EvictionTrace::Span span) {
    struct Made {
        c10::StorageImpl* storage;
        std::int64_t bytes;
    };
    std::vector<Made> made;
    std::vector<int> returns;
    bool again = !call.runs_once && call.lost.empty(), shares = false;
    std::vector<std::size_t> small_integers;  // indices into `made`
    const auto add = [&](const at::Tensor& tensor) {
        if (!tensor.defined() || !can_be_known(tensor) || storage_of(tensor) >= 0) return -1;
        c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
        std::size_t at = 0;
        while (at < made.size() && made[at].storage != storage) ++at;
        if (at == made.size()) made.push_back({storage, static_cast<std::int64_t>(storage->nbytes())});
        shares = shares || lies_in_an_input(call, *storage);
        if (may_be_read_on_the_host(tensor)) small_integers.push_back(at);
        return static_cast<int>(call.changed.size() + at);
    };
    for_each_tensor_of(stack, call.facts.returns, [&](std::size_t, int, const at::Tensor& tensor) {
        if (tensor.defined() && !is_plain(tensor)) call.opaque = true;
        returns.push_back(tensor.defined() && is_plain(tensor) ? add(tensor) : -1);
    });
    // If a changed storage has no ticket, the op has given the storage other memory and cannot run again.
    for (const int storage : call.changed)
        if (const auto user = known_[storage].user.lock(); !user || !ticket_of(*user)) again = false;
    if (call.opaque || shares) {
        again = false;
        for (const int tensor : call.inputs) freeze(eviction_.graph().tensor(tensor).storage);
    }

    Trace::Op record{.time = time, .recomputable = again, .inputs = call.inputs};
    std::vector<Trace::Output> outputs;
    for (const int storage : call.changed) {
        record.in_place.push_back({known_[storage].tensor, known_[storage].bytes});
        outputs.push_back({.bytes = known_[storage].bytes});
    }
    record.writes_over = !call.changed.empty();
    for (const Made& one : made) outputs.push_back({.bytes = one.bytes});
    const bool silent = outputs.empty();
    if (silent) {
        outputs.push_back({});
        record.recomputable = again = false;
    }
    if (options_.costs_from_bytes) record.time = cost_from_bytes(call, outputs);
    step_time_ += record.time;
    const int op = declare(record, outputs, call.op.schema().name());
    const std::vector<int> tensors = eviction_.graph().op(op).outputs;
    for (std::size_t i = 0; i < call.changed.size(); ++i)
        take_memory_over(call.changed[i], eviction_.graph().tensor(tensors[i]).storage);
    for (std::size_t i = 0; i < made.size(); ++i) {
        const int storage = eviction_.graph().tensor(tensors[call.changed.size() + i]).storage;
        hang(storage, *made[i].storage);
    }
    if (again) {
        stored->returns = std::move(returns);
        stored_[static_cast<std::size_t>(op)] = std::move(stored);
    }
    const std::int64_t workspace = finish_measuring(op);
    if (log_) log_->workspace(workspace);
    if (record_) record_call(call, op, workspace, span);
    eviction_.made(op);
    for (const int storage : call.changed) release(storage);
    if (silent) release(eviction_.graph().tensor(tensors.front()).storage);
    for (const std::size_t one : small_integers)
        freeze(eviction_.graph().tensor(tensors[call.changed.size() + one]).storage);
    if (silent) return;
    const bool unfilled = call.facts.kind == OpFacts::Kind::fills_later;
    if (!unfilled && !(in_backward_ && accumulates_gradient())) return;
    for (const int tensor : tensors) {
        const int storage = eviction_.graph().tensor(tensor).storage;
        known_[storage].unfilled = unfilled;
        freeze(storage);
    }
}

/// Says whether a result is another storage over the memory of an argument. It is then unknown how long that
/// memory must live.
bool Evictor::lies_in_an_input(const Call& call, const c10::StorageImpl& made) {
    const auto* begin = static_cast<const char*>(made.data_ptr().get());
    return std::any_of(call.inputs.begin(), call.inputs.end(), [&](int tensor) {
        const int storage = eviction_.graph().tensor(tensor).storage;
        const c10::Storage held = memory_of(storage);  // empty if the program has dropped it meanwhile
        const auto* memory = held ? static_cast<const char*>(held.data()) : nullptr;
        return begin && memory && begin < memory + known_[storage].bytes && memory < begin + made.nbytes();
    });
}

std::int64_t Evictor::cost_from_bytes(const Call& call, const std::vector<Trace::Output>& outputs) const {
    std::int64_t bytes = 1000;
    for (const int tensor : call.inputs) bytes += known_[eviction_.graph().tensor(tensor).storage].bytes;
    for (const Trace::Output& output : outputs) bytes += output.bytes;
    return bytes;
}

}  // namespace rematlas
