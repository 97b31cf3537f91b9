#include "runtime/eviction/ticket.h"

#include <utility>

namespace rematlas {

/// The deleter of a DataPtr that has a ticket. Called when the storage is destroyed or is given other memory.
void leave(void* context) {
    std::unique_ptr<Ticket> ticket(static_cast<Ticket*>(context));
    const std::shared_ptr<Departures> departures = ticket->departures;
    const std::lock_guard lock(departures->mutex_);
    if (!departures->closed_) departures->tickets_.push_back(std::move(ticket));
}

std::vector<std::unique_ptr<Ticket>> Departures::take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(tickets_, {});
}

bool Departures::empty() const {
    const std::lock_guard lock(mutex_);
    return tickets_.empty();
}

c10::DataPtr Departures::memory_of(int storage) {
    const std::lock_guard lock(mutex_);
    for (const std::unique_ptr<Ticket>& ticket : tickets_)
        if (ticket->storage == storage) return std::exchange(ticket->memory, c10::DataPtr());
    return {};
}

void Departures::close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
}

namespace {

/// Replaces the pointer of a storage without calling the old pointer's deleter.
void exchange(c10::StorageImpl& storage, c10::DataPtr pointer) {
    storage._mutable_data_ptr_no_checks().release_context();
    storage.set_data_ptr_noswap(std::move(pointer));
}

}  // namespace

const c10::DataPtr& memory_behind(const c10::DataPtr& pointer) {
    if (pointer.get_deleter() != &leave) return pointer;
    return static_cast<const Ticket*>(pointer.get_context())->memory;
}

Ticket* ticket_of(const c10::StorageImpl& storage) {
    const c10::DataPtr& pointer = const_cast<c10::StorageImpl&>(storage)._mutable_data_ptr_no_checks();
    return pointer.get_deleter() == &leave ? static_cast<Ticket*>(pointer.get_context()) : nullptr;
}

Ticket* hang_ticket(c10::StorageImpl& storage, std::shared_ptr<Departures> departures, int name) {
    auto ticket = std::make_unique<Ticket>();
    ticket->departures = std::move(departures);
    ticket->storage = name;
    ticket->memory = std::move(storage._mutable_data_ptr_no_checks());
    void* data = ticket->memory.get();
    const c10::Device device = ticket->memory.device();
    storage.set_data_ptr_noswap({data, ticket.get(), &leave, device});
    return ticket.release();
}

c10::DataPtr take_memory(c10::StorageImpl& storage) {
    Ticket* ticket = ticket_of(storage);
    c10::DataPtr memory = std::exchange(ticket->memory, c10::DataPtr());
    exchange(storage, {nullptr, ticket, &leave, memory.device()});
    return memory;
}

void give_memory(c10::StorageImpl& storage, c10::DataPtr memory) {
    Ticket* ticket = ticket_of(storage);
    void* data = memory.get();
    const c10::Device device = memory.device();
    ticket->memory = std::move(memory);
    exchange(storage, {data, ticket, &leave, device});
}

void take_ticket_down(c10::StorageImpl& storage) {
    const std::unique_ptr<Ticket> ticket(ticket_of(storage));
    exchange(storage, std::move(ticket->memory));
}

}  // namespace rematlas
