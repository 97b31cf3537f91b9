// Functions by which other code reports tensors that it uses without calling the dispatcher: tensors that
// must not be evicted, that are read, or that change.
#include <c10/util/Exception.h>

#include <mutex>
#include <utility>
#include <vector>

#include "runtime/capture/op_traits.h"
#include "runtime/eviction/evictor.h"

namespace rematlas {

void Evictor::keep(c10::ArrayRef<at::Tensor> tensors) {
    const std::lock_guard program(program_);
    const Engine engine(engine_);
    current_ = "what stays";
    for (const at::Tensor& tensor : tensors) keep(tensor);
}

/// From now on, the tensor's storage is not evicted. Returns the storage's id, or -1 if the evictor cannot
/// know the storage.
int Evictor::keep(const at::Tensor& tensor) {
    if (!tensor.defined() || !tensor.has_storage() || !can_be_known(tensor)) return -1;
    const int storage = storage_of(tensor);
    if (storage < 0) return make_resident(tensor);
    freeze(storage);
    return storage;
}

std::shared_ptr<void> Evictor::hold(c10::ArrayRef<at::Tensor> tensors, const char* who) {
    const std::lock_guard program(program_);
    const Engine engine(engine_);
    let_departed_go();
    std::vector<int> wanted;
    for (const at::Tensor& tensor : tensors)
        if (const int storage = storage_of(tensor); storage >= 0) wanted.push_back(known_[storage].tensor);
    current_ = who;
    if (!eviction_.begin(wanted)) fail(current_);
    return {nullptr, [this, wanted](void*) {
                const Engine engine(engine_);
                eviction_.end(wanted);
            }};
}

void Evictor::changes(c10::ArrayRef<at::Tensor> tensors) {
    const std::lock_guard program(program_);
    const Engine engine(engine_);
    let_departed_go();
    current_ = "a planned step";
    for (const at::Tensor& tensor : tensors)
        if (const int storage = storage_of(tensor); storage >= 0) freeze(storage), lose(storage);
}

void Evictor::names(const std::vector<NamedTensor>& tensors) {
    const std::lock_guard program(program_);
    const Engine engine(engine_);
    current_ = "what stays";
    for (const NamedTensor& named : tensors) {
        const int storage = keep(named.tensor);
        if (storage < 0 || !record_) continue;
        record_->names(known_[storage].tensor, named.name,
                       named.is_parameter ? TensorKind::parameter : TensorKind::buffer);
    }
}

void Evictor::set_places(Places* places) {
    const std::lock_guard program(program_);
    if (record_) record_->set_places(places);
}

void Evictor::touch(const at::Tensor& tensor, Look look) {
    const std::lock_guard program(program_);
    const Engine engine(engine_);
    if (!guard_ || !tensor.defined() || !tensor.has_storage()) return;
    let_departed_go();
    const int storage = storage_of(tensor);
    if (storage < 0 || known_[storage].resident) return;
    const std::vector<int> wanted{known_[storage].tensor};
    current_ = "a look at a tensor's memory";
    if (!eviction_.begin(wanted)) fail(current_);
    eviction_.end(wanted);
    wait_for_own_queue();
    if (look == Look::on) freeze(storage);
    if (look == Look::and_change) lent(storage);
}

/// From now on, neither the storage nor any tensor that was or will be made from it is evicted. Counts one
/// more loan of the storage.
void Evictor::lent(int storage) {
    freeze(storage);
    if (known_[storage].lent++ == 0) lose(storage);
}

std::int64_t Evictor::lend(const at::Tensor& tensor) {
    const std::lock_guard program(program_);
    const Engine engine(engine_);
    if (!guard_ || !tensor.is_cpu()) return -1;
    const int storage = storage_of(tensor);
    if (storage < 0 || known_[storage].resident) return -1;
    if (!eviction_.begin({known_[storage].tensor})) fail(current_);
    loans_[++last_loan_] = {storage, digest_of_memory(storage)};
    return last_loan_;
}

void Evictor::returned(std::int64_t loan) {
    const std::lock_guard lock(returned_lock_);
    returned_.push_back(loan);
}

/// Ends the loans that were returned, and checks whether other code has changed the memory of lent storages.
/// Must be called before the evictor releases storages that the program has dropped, because the ids of
/// released storages may be used again.
void Evictor::see_loans() {
    if (loans_.empty()) return;
    std::vector<std::int64_t> returned;
    {
        const std::lock_guard lock(returned_lock_);
        returned.swap(returned_);
    }
    for (const std::int64_t id : returned) {
        const auto loan = loans_.extract(id);
        if (loan.empty()) continue;
        const auto& [storage, digest, seen] = loan.mapped();
        eviction_.end({known_[storage].tensor});
        if (seen) {
            --known_[storage].lent;
        } else if (digest_of_memory(storage) != digest) {
            see_change(storage);
            lent(storage);
            --known_[storage].lent;
        }
    }
    for (auto& [id, loan] : loans_) {
        if (std::exchange(loan.seen, true)) continue;
        if (digest_of_memory(loan.storage) != loan.digest) see_change(loan.storage);
        lent(loan.storage);
    }
}

/// Must be called when other code has changed the storage's memory. Throws if a tensor that was made from the
/// old contents is evicted, because that tensor cannot be restored.
void Evictor::see_change(int storage) const {
    TORCH_CHECK(
        eviction_.bytes_kept_by_losing(known_[storage].tensor),
        "rematlas: a tensor's memory was changed past all operators, through numpy say, when what was "
        "made from it had been evicted; copy it first, or give a larger budget");
}

std::uint64_t Evictor::digest_of_memory(int storage) {
    const c10::Storage memory = memory_of(storage);
    return memory ? digest_of(memory.data(), memory.nbytes()) : 0;
}

}  // namespace rematlas
