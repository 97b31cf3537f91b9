// Copies within host memory by two threads, one each way, and a third thread that runs ops. They correspond
// to the streams of a GPU. Compute is the calling thread, whose work is done when it submits more.
//
//     std::unique_ptr<CopyQueues> copies = worker_copies();
//
// Threads: one thread at a time gives orders.
#pragma once

#include <memory>

#include "runtime/transfers/copy_queues.h"

namespace rematlas {

std::unique_ptr<CopyQueues> worker_copies();

/// Takes pages of the system, which nothing counts. Null: no memory.
std::unique_ptr<PinnedSlab> mapped_slab(std::size_t bytes);

}  // namespace rematlas
