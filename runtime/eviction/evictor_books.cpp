// The evictor's bookkeeping of storages (the "books"), and the functions that core/dtr calls.
#include <ATen/MapAllocator.h>
#include <c10/core/Allocator.h>
#include <c10/core/impl/COW.h>
#include <c10/util/Exception.h>

#include <mutex>
#include <utility>

#include "runtime/eviction/evictor.h"

namespace rematlas {
namespace {

/// Releases the lock on the books while a kernel runs.
class OutsideTheBooks {
  public:
    explicit OutsideTheBooks(YieldingMutex<std::mutex>& books) : books_(books) { books_.unlock(); }
    ~OutsideTheBooks() { books_.lock(); }
    OutsideTheBooks(const OutsideTheBooks&) = delete;
    OutsideTheBooks& operator=(const OutsideTheBooks&) = delete;

  private:
    YieldingMutex<std::mutex>& books_;
};

bool lies_in_shared_memory(c10::StorageImpl& storage) {
    return at::MapAllocator::fromDataPtr(storage._mutable_data_ptr_no_checks()) != nullptr;
}

}  // namespace

// Functions for storages.

/// Says whether the evictor can manage the memory of the tensor. The tensor must have memory on this device,
/// and no Python class may handle its ops. A lazy copy (copy-on-write) is excluded. It shares the memory of
/// another tensor until it is written to. A ticket (ticket.h) would hide that a write must first make the
/// copy.
bool Evictor::can_be_known(const at::Tensor& tensor) const {
    return !runs_python(tensor) && tensor.device() == device_.device() && tensor.storage().nbytes() > 0 &&
           !c10::impl::cow::is_cow_data_ptr(
               tensor.storage().unsafeGetStorageImpl()->_mutable_data_ptr_no_checks());
}

/// Returns the id of the tensor's storage in the books; -1 if the storage is not in the books.
int Evictor::storage_of(const at::Tensor& tensor) const {
    if (!tensor.defined() || !tensor.has_storage()) return -1;
    const c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
    if (const Ticket* ticket = ticket_of(*storage))
        return ticket->departures == departures_ ? ticket->storage : -1;
    if (shared_.empty()) return -1;
    const auto found = shared_.find(storage);
    return found == shared_.end() ? -1 : found->second;
}

/// Adds to the books a storage that was made outside the evictor or without calling the dispatcher. It is
/// never evicted, and outlives the program's handles if reruns need it.
int Evictor::make_resident(const at::Tensor& tensor) {
    const c10::Storage& storage = tensor.storage();
    if (log_) log_->begins();
    const int op =
        declare({.recomputable = false}, {{.bytes = static_cast<std::int64_t>(storage.nbytes())}}, "outside");
    const int id = eviction_.graph().tensor(eviction_.graph().op(op).outputs.front()).storage;
    known_[id].resident = true;
    known_[id].counted = counted(tensor);
    hang(id, *storage.unsafeGetStorageImpl());
    if (record_) record_->met(known_[id].tensor, known_[id].counted, alive(), wall_clock());
    eviction_.made(op);
    return id;
}

/// Returns the bytes that the tensor adds to the device's count; 0 for host memory that the device does not
/// count.
std::int64_t Evictor::counted(const at::Tensor& tensor) const {
    const c10::Storage& storage = tensor.storage();
    return device_.counts(storage.data_ptr()) ? device_.footprint(static_cast<std::int64_t>(storage.nbytes()))
                                              : 0;
}

int Evictor::declare(const Trace::Op& op, const std::vector<Trace::Output>& outputs,
                     const std::string& name) {
    const int id = eviction_.declare(op, outputs);
    const StorageGraph& graph = eviction_.graph();
    if (log_) log_->call(id, op, outputs, graph.op(id).outputs, name);
    stored_.resize(static_cast<std::size_t>(graph.op_count()));
    known_.resize(static_cast<std::size_t>(graph.storage_count()));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const int tensor = graph.op(id).outputs[i];
        Known& known = known_[graph.tensor(tensor).storage];
        known = {};
        known.tensor = tensor;
        known.bytes = outputs[i].bytes;
        known.counted = device_.footprint(known.bytes);
    }
    return id;
}

void Evictor::note(Trace::Step step, int storage) {
    if (log_) log_->step(step, storage < 0 ? -1 : known_[storage].tensor);
}

void Evictor::release(int storage) {
    note(Trace::Step::release, storage);
    eviction_.release(known_[storage].tensor);
}

/// From now on, the storage is not evicted.
void Evictor::freeze(int storage) {
    if (eviction_.is_pinned(storage)) return;
    note(Trace::Step::freeze, storage);
    if (!eviction_.freeze(known_[storage].tensor)) fail(current_);
}

void Evictor::hang(int storage, c10::StorageImpl& user) {
    known_[storage].user =
        c10::weak_intrusive_ptr<c10::StorageImpl>(c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(&user));
    note_memory(storage, true, true);
    if (!lies_in_shared_memory(user)) {
        hang_ticket(user, departures_, storage);
        return;
    }
    shared_[&user] = storage;
    known_[storage].own = c10::Storage(known_[storage].user.lock());
}

/// Releases the storages that are in shared memory and that the program has dropped. Such a storage has no
/// ticket (ticket.h) that would tell when the program's last handle is gone, so its references are counted
/// here.
void Evictor::let_shared_go() {
    std::erase_if(shared_, [&](const auto& entry) {
        const int storage = entry.second;
        if (known_[storage].own.use_count() > 1) return false;
        departed(storage);
        return true;
    });
}

/// Must be called when the program's last handle to the storage is gone.
void Evictor::departed(int storage) {
    Known& known = known_[storage];
    known.user = Known().user;
    note_memory(storage, false, known.there);
    release(storage);
    dropped_by_program_.push_back(storage);
}

void Evictor::give(int storage, c10::DataPtr memory) {
    Known& known = known_[storage];
    note_memory(storage, known.held, true);
    if (const auto user = known.user.lock(); user && ticket_of(*user))
        return give_memory(*user, std::move(memory));
    known.own = c10::Storage(c10::Storage::use_byte_size_t(), known.bytes, std::move(memory), nullptr, false);
}

/// Takes the memory of the storage away and returns it; null if the storage has none.
c10::DataPtr Evictor::take(int storage) {
    Known& known = known_[storage];
    note_memory(storage, known.held, false);
    if (const auto user = known.user.lock()) {
        const Ticket* ticket = ticket_of(*user);
        return ticket && ticket->memory ? take_memory(*user) : c10::DataPtr();
    }
    if (!known.own) return departures_->memory_of(storage);
    c10::DataPtr memory = known.own.set_data_ptr(c10::DataPtr(nullptr, device_.device()));
    known.own = {};
    return memory;
}

c10::Storage Evictor::memory_of(int storage) {
    const Known& known = known_[storage];
    if (auto user = known.user.lock()) return c10::Storage(std::move(user));
    // Another thread may just have dropped the storage. The storage's ticket then has the memory.
    if (!known.own) {
        if (c10::DataPtr left = departures_->memory_of(storage)) {
            used_by_own_queue(left);
            give(storage, std::move(left));
        }
    }
    return known.own;
}

/// Notes whether the program holds the storage and whether its memory is present. Also updates the bytes that
/// ProgramMemory counts.
void Evictor::note_memory(int storage, bool held, bool there) {
    Known& known = known_[storage];
    const int before = static_cast<int>(known.held) - static_cast<int>(known.there);
    const int now = static_cast<int>(held) - static_cast<int>(there);
    if (now != before) program_memory_.absent += (now - before) * known.counted;
    known.held = held;
    known.there = there;
}

// The functions that core/dtr calls. The caller must hold the lock on the books.

void Evictor::drop(int storage) {
    Known& known = known_[storage];
    if (log_) log_->dropped(known.tensor);
    if (record_) record_->dropped(known.tensor, evicting_, wall_clock());
    const std::int64_t expected = known.counted;
    const bool may_take_more = expected > 0 && device_.most_footprint(known.bytes) > expected;
    const std::int64_t before = may_take_more ? device_.alive_bytes() : 0;
    {
        const c10::DataPtr freed = take(storage);
        if (measures_ && freed) dropped_ += known.bytes;
    }
    if (may_take_more) note_block(storage, before - device_.alive_bytes());
}

/// Corrects the counted bytes of a storage that has been dropped. `bytes`: the bytes that were freed. If more
/// bytes were freed than counted, the allocator had handed out a block larger than the request.
void Evictor::note_block(int storage, std::int64_t bytes) {
    Known& known = known_[storage];
    const std::int64_t more = bytes - known.counted;
    if (more <= 0 || bytes > device_.most_footprint(known.bytes)) return;
    known.counted = bytes;
    if (known.held) program_memory_.absent += more;
}

std::int64_t Evictor::missing(std::int64_t bytes) const {
    return alive() + device_.most_footprint(bytes) - limit_;
}

bool Evictor::goes_on() {
    const double reruns = static_cast<double>(eviction_.counts().rerun_time - rerun_before_);
    const double own = static_cast<double>(std::max<std::int64_t>({longest_step_, step_time_, 1'000'000}));
    thrashes_ = reruns > options_.thrash * own && !give_up_by_time();
    return !thrashes_;
}

void Evictor::forget_op(int op) {
    stored_[op].reset();
}

void Evictor::forget_storage(int storage) {
    note_memory(storage, false, false);
    known_[storage] = {};
}

bool Evictor::run_again(int op, bool in_place) {
    if (log_) log_->reran(op);
    const std::string before = std::exchange(current_, stored_[op]->op().schema().name() + " (again)");
    const std::int64_t began = wall_clock();
    bool ran = true;
    ++reruns_;
    try {
        run_stored_on_queue(op, in_place);
        if (record_) record_->ran_again(op, in_place, {began, wall_clock()});
    } catch (...) {
        ran = false;
        error_ = std::current_exception();
    }
    current_ = before;
    --reruns_;
    return ran;
}

void Evictor::run_stored(int id, bool in_place) {
    const StorageGraph::Op& op = eviction_.graph().op(id);
    StoredCall& call = *stored_[id];
    std::unordered_map<int, c10::Storage> written;  // new storage of each old storage
    const auto storage_in = [&](const StoredCall::Place& place) {
        if (place.storage < 0) return c10::Storage();
        const auto found = written.find(place.storage);
        return found != written.end() ? found->second : memory_of(place.storage);
    };
    for (const Trace::InPlace& pair : op.in_place) {
        const int old = eviction_.graph().tensor(pair.input).storage;
        if (in_place) {
            written[old] =
                c10::Storage(c10::Storage::use_byte_size_t(), pair.bytes, take(old), nullptr, false);
            continue;
        }
        const c10::Storage from = memory_of(old);
        const OutsideTheBooks outside(engine_);
        c10::Storage copy(c10::Storage::use_byte_size_t(), pair.bytes,
                          c10::GetAllocator(device_.device().type())->allocate(pair.bytes), nullptr, false);
        device_.copy(copy, from);
        written[old] = std::move(copy);
    }
    std::vector<c10::Storage> inputs;
    for (const StoredCall::Place& place : call.places()) inputs.push_back(storage_in(place));
    std::size_t next = 0;
    torch::jit::Stack results;
    {
        // If the call throws, the inputs that it overwrites in place have lost their contents.
        const OutsideTheBooks outside(engine_);
        results = call.run(device_, [&](const StoredCall::Place&) { return std::move(inputs[next++]); });
    }

    const auto give_back = [&](int tensor, const c10::Storage& storage) {
        const int to = eviction_.graph().tensor(tensor).storage;
        TORCH_CHECK(static_cast<std::int64_t>(storage.nbytes()) == known_[to].bytes,
                    "rematlas: ", call.op().schema().name(), " made ", storage.nbytes(),
                    " bytes again where it had made ", known_[to].bytes);
        if (eviction_.is_defined(tensor)) return;
        give(to, storage.unsafeGetStorageImpl()->set_data_ptr(c10::DataPtr(nullptr, device_.device())));
    };
    for (std::size_t i = 0; i < op.in_place.size(); ++i)
        give_back(op.outputs[i], written.at(eviction_.graph().tensor(op.in_place[i].input).storage));
    std::size_t at = 0;
    std::vector<std::uint8_t> placed(op.outputs.size(), 0);
    for_each_tensor_of(results, results.size(), [&](std::size_t, int, const at::Tensor& tensor) {
        const int output = call.returns[at++];
        if (output < 0 || placed[output]++) return;
        give_back(op.outputs[output], tensor.storage());
    });
}

/// Records an op after its first run. Its outputs must be declared already.
void Evictor::record_call(const Call& call, int op, std::int64_t workspace, EvictionTrace::Span span) {
    const StorageGraph::Op& made = eviction_.graph().op(op);
    EvictionTrace::Called called{.name = call.op.schema().name(),
                                 .inputs = call.inputs,
                                 .time = made.time,
                                 .workspace = workspace,
                                 .random = call.facts.random,
                                 .recomputable = made.recomputable};
    std::vector<std::int64_t> bytes;
    for (std::size_t i = 0; i < made.outputs.size(); ++i) {
        if (i < made.in_place.size()) called.in_place.emplace_back(made.outputs[i], made.in_place[i].input);
        const std::int64_t size = known_[eviction_.graph().tensor(made.outputs[i]).storage].bytes;
        if (size == 0) continue;  // an op without outputs was declared with an empty output
        called.outputs.push_back(made.outputs[i]);
        bytes.push_back(device_.footprint(size));
    }
    for (const auto* storages : {&call.lost, &call.updated})
        for (const int storage : *storages) called.changes.push_back(known_[storage].tensor);
    record_->ran(op, std::move(called), bytes, span);
}

// Measures the memory that an op takes in addition to its outputs, for the log and the record.

void Evictor::begin_measuring() {
    measures_ = log_ || record_;
    if (!measures_) return;
    began_ = device_.alive_bytes();
    most_ = dropped_ = 0;
}

void Evictor::measure(std::int64_t bytes) {
    most_ = std::max(most_, device_.alive_bytes() + dropped_ - began_ + bytes);
}

std::int64_t Evictor::finish_measuring(int op) {
    if (!std::exchange(measures_, false)) return 0;
    const StorageGraph::Op& made = eviction_.graph().op(op);
    std::int64_t fresh = 0;
    for (std::size_t i = made.in_place.size(); i < made.outputs.size(); ++i)
        fresh += known_[eviction_.graph().tensor(made.outputs[i]).storage].bytes;
    return std::max<std::int64_t>(most_ - fresh, 0);
}

}  // namespace rematlas
