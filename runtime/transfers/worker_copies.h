// Copies within host memory by two threads, one for each direction, and a third thread that runs ops. The
// threads correspond to the streams of a GPU. The calling thread stands for the compute stream; its work is
// done at once, so it never has to be waited for.
//
//     std::unique_ptr<CopyQueues> copies = worker_copies();
//
// Threads: only one thread at a time may give orders.
#pragma once

#include <memory>

#include "runtime/transfers/copy_queues.h"

namespace rematlas {

std::unique_ptr<CopyQueues> worker_copies();

/// Maps pages of the system, which no allocator counts. Returns null if there is no memory.
std::unique_ptr<PinnedSlab> mapped_slab(std::size_t bytes);

}  // namespace rematlas
