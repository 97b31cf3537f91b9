// A small training step for tests: a chain of equal layers with forward, loss and backward. The ops have
// module paths.
#pragma once

#include <QString>
#include <QTemporaryDir>

#include "app/explorer/loaded/loaded_graph.h"

namespace rematlas::explorer {

/// Returns the chain. Each layer makes two tensors of `bytes` in the forward pass (a convolution and an
/// activation), and two in the backward pass. Every op takes `time`.
Graph training_chain(int layers, Bytes bytes = Bytes(1 << 20), Nanoseconds time = Nanoseconds(1000));

/// Returns the chain with all derived data, as if it had been read from a file.
GraphPtr loaded_chain(int layers, const std::optional<Device>& device = {});

/// Writes the chain into a file of the folder and returns the file's path.
QString write_chain(const QTemporaryDir& folder, int layers, const QString& name = "chain",
                    Bytes bytes = Bytes(1 << 20), Nanoseconds time = Nanoseconds(1000));

/// Runs the event loop until the condition holds. Gives up after two minutes or a little more, and then
/// returns false.
template <class Condition>
bool eventually(Condition condition);

void process_events();

template <class Condition>
bool eventually(Condition condition) {
    for (int i = 0; i < 24'000; ++i) {
        if (condition()) return true;
        process_events();
    }
    return condition();
}

}  // namespace rematlas::explorer
