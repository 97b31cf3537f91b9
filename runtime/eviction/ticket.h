// Lets a storage of the program give up its memory and get it back, and tells the evictor when the storage is
// destroyed.
//
//     Ticket* ticket = hang_ticket(*storage, departures, 7);
//     c10::DataPtr memory = take_memory(*storage);      // also for views, saved variables, handles
//     give_memory(*storage, std::move(other));
//     ... the program drops its last handle ...
//     departures->take();                               // returns the ticket
//
// The ticket is the context of the storage's DataPtr. A storage without memory has a null pointer, so
// libtorch's accessors of data throw.
#pragma once

#include <c10/core/StorageImpl.h>

#include <memory>
#include <mutex>
#include <vector>

namespace rematlas {

class Departures;

struct Ticket {
    std::shared_ptr<Departures> departures;
    int storage = 0;      ///< the storage's id, given to `hang_ticket`
    c10::DataPtr memory;  ///< null while evicted
};

/// Tickets of storages that have been destroyed, in the order of their destruction. Threads: any.
class Departures {
  public:
    std::vector<std::unique_ptr<Ticket>> take();
    bool empty() const;
    /// Takes the memory of the storage out of its ticket. Returns null if none of these tickets belongs to
    /// the storage.
    c10::DataPtr memory_of(int storage);
    /// From now on, tickets that arrive are destroyed at once.
    void close();

  private:
    friend void leave(void* ticket);
    mutable std::mutex mutex_;
    std::vector<std::unique_ptr<Ticket>> tickets_;
    bool closed_ = false;
};

Ticket* hang_ticket(c10::StorageImpl& storage, std::shared_ptr<Departures> departures, int name);
/// If `pointer` belongs to a storage with a ticket, returns the ticket's pointer to the memory; else returns
/// `pointer`.
const c10::DataPtr& memory_behind(const c10::DataPtr& pointer);
/// Returns the ticket of the storage, or null if it has none.
Ticket* ticket_of(const c10::StorageImpl& storage);
c10::DataPtr take_memory(c10::StorageImpl& storage);
void give_memory(c10::StorageImpl& storage, c10::DataPtr memory);
/// Removes the ticket, so that the storage directly owns its memory again.
void take_ticket_down(c10::StorageImpl& storage);

}  // namespace rematlas
