// How a storage of the program gives its memory away and gets it back, and how its end is noticed.
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
    int storage = 0;      ///< in the books of who hung it
    c10::DataPtr memory;  ///< none while evicted
};

/// Tickets of storages that are gone, in the order in which they went. Any thread.
class Departures {
  public:
    std::vector<std::unique_ptr<Ticket>> take();
    bool empty() const;
    /// The memory that one of them brings, which leaves the ticket.
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
/// Of the pointer of a storage with a ticket, the memory's own; of another, itself.
const c10::DataPtr& memory_behind(const c10::DataPtr& pointer);
/// Null where it has none.
Ticket* ticket_of(const c10::StorageImpl& storage);
c10::DataPtr take_memory(c10::StorageImpl& storage);
void give_memory(c10::StorageImpl& storage, c10::DataPtr memory);
/// The storage has its memory to itself again.
void take_ticket_down(c10::StorageImpl& storage);

}  // namespace rematlas
