// A small training step for the tests: a chain of equal layers with forward, loss and backward, and with
// module paths.
#pragma once

#include <QString>
#include <QTemporaryDir>

#include "app/explorer/loaded/loaded_graph.h"

namespace rematlas::explorer {

/// Each layer makes two tensors of `bytes` in the forward (a convolution and an activation), and two in the
/// backward. Every op takes `time`.
Graph training_chain(int layers, Bytes bytes = Bytes(1 << 20), Nanoseconds time = Nanoseconds(1000));

/// Returns the chain as if it had been read from a file.
GraphPtr loaded_chain(int layers, const std::optional<Device>& device = {});

/// Writes the chain into the folder and returns its path.
QString write_chain(const QTemporaryDir& folder, int layers, const QString& name = "chain",
                    Bytes bytes = Bytes(1 << 20), Nanoseconds time = Nanoseconds(1000));

/// Runs the event loop until the condition holds. Returns false if it does not hold after two minutes or
/// more.
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
