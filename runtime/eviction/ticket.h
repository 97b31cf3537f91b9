// How a storage of the program gives its memory away and gets it back, and how the evictor notices the
// storage's end.
//
//     Ticket* ticket = hang_ticket(*storage, departures, 7);
//     c10::DataPtr memory = take_memory(*storage);      // views, saved variables and handles follow
//     give_memory(*storage, std::move(other));
//     ... the program's last handle goes ...
//     departures->take();                               // the ticket
//
// The ticket is the context of the storage's DataPtr. A storage without memory has a null pointer: libtorch's
// accessors of data throw.
#pragma once

#include <c10/core/StorageImpl.h>

#include <memory>
#include <mutex>
#include <vector>

namespace rematlas {

class Departures;

struct Ticket {
    std::shared_ptr<Departures> departures;
    int storage = 0;      ///< id of the storage in the books of whoever hung the ticket
    c10::DataPtr memory;  ///< none while evicted
};

/// Tickets of storages that are gone, in the order in which they went. Threads: any.
class Departures {
  public:
    std::vector<std::unique_ptr<Ticket>> take();
    bool empty() const;
    /// Takes the memory of the storage out of its ticket; null if no ticket brings it.
    c10::DataPtr memory_of(int storage);
    /// From now on tickets are thrown away.
    void close();

  private:
    friend void leave(void* ticket);
    mutable std::mutex mutex_;
    std::vector<std::unique_ptr<Ticket>> tickets_;
    bool closed_ = false;
};

Ticket* hang_ticket(c10::StorageImpl& storage, std::shared_ptr<Departures> departures, int name);
/// The pointer to the memory behind the ticket if `pointer` belongs to a storage with a ticket, else
/// `pointer` itself.
const c10::DataPtr& memory_behind(const c10::DataPtr& pointer);
/// The ticket of the storage; null if it has none.
Ticket* ticket_of(const c10::StorageImpl& storage);
c10::DataPtr take_memory(c10::StorageImpl& storage);
void give_memory(c10::StorageImpl& storage, c10::DataPtr memory);
/// Removes the ticket, so that the storage owns its memory itself again.
void take_ticket_down(c10::StorageImpl& storage);

}  // namespace rematlas
