// The behaviour of a program as an online method sees it: ops that are called one after another, views, and
// references that are added and dropped.
//
//     Trace trace;
//     const int x = trace.constant(100);
//     const int y = trace.call({.time = 5, .inputs = {x}}, {{.bytes = 10}}).front();
//     trace.release(y);
#pragma once

#include <cstdint>
#include <vector>

namespace rematlas {

/// Ids are positions in the lists. A tensor has its own storage or is a view of another tensor's storage. A
/// storage exists as soon as its first tensor has been made; each view is made again by its own op. Times and
/// bytes must not be negative. The sum of all times and the sum of all bytes must each be at most 2^60.
struct Trace {
    /// The op can write `bytes` of its outputs over this input, so that they take no new memory.
    struct InPlace {
        int input = 0;  ///< id of the tensor
        std::int64_t bytes = 0;
    };
    struct Op {
        std::int64_t time = 0;       ///< in the unit of the trace
        std::int64_t workspace = 0;  ///< bytes held while the op runs
        /// false: the op runs only once, and its outputs stay on the device while a rerun can need them.
        bool recomputable = true;
        std::vector<int> inputs{};  ///< ids of the input tensors
        std::vector<InPlace> in_place{};
        /// The call itself writes over the inputs in `in_place`, whose contents are then gone. A rerun of the
        /// op can write over these inputs, but need not.
        bool writes_over = false;
        std::vector<int> outputs{};  ///< tensors, at least one; filled by `call`
    };
    struct Tensor {
        int op = 0;
        int storage = 0;
        bool view = false;
    };
    struct Output {
        std::int64_t bytes = 0;
        int view_of = -1;  ///< position in the op's inputs; a view has no bytes of its own
    };
    /// The kinds of instructions of a program. A tensor has one reference when it is made.
    enum class Step {
        call,     ///< calls an op
        retain,   ///< adds a reference to a tensor
        release,  ///< drops a reference
        /// The tensor must be on the device, and its storage is not evicted from now on.
        pin,
        freeze,  ///< like `pin`, until the storage has no reference and no rerun can need it
        thaw,    ///< undoes a pin or a freeze
        /// The contents of the tensor's storage are about to change after ops have read them. These ops
        /// cannot run again, so their outputs that the program still holds must be on the device.
        lose,
        /// A training step is over: a good moment to forget ops and storages. This instruction names no
        /// tensor.
        settle,
    };
    struct Instruction {
        Step step = Step::call;
        int id = 0;
    };

    std::vector<Op> ops;
    std::vector<Tensor> tensors;
    std::vector<std::int64_t> bytes;  ///< bytes of each storage
    std::vector<Instruction> program;
    std::int64_t total_time = 0;  ///< time of all calls, each once

    /// Adds a tensor that is pinned from now on. Returns its id.
    int constant(std::int64_t bytes);
    /// Adds a call. Returns the tensors of the outputs.
    const std::vector<int>& call(Op op, const std::vector<Output>& outputs);
    void retain(int tensor) { program.push_back({Step::retain, tensor}); }
    void release(int tensor) { program.push_back({Step::release, tensor}); }
    void pin(int tensor) { program.push_back({Step::pin, tensor}); }
    void freeze(int tensor) { program.push_back({Step::freeze, tensor}); }
    void thaw(int tensor) { program.push_back({Step::thaw, tensor}); }
    void lose(int tensor) { program.push_back({Step::lose, tensor}); }
    void settle() { program.push_back({Step::settle, 0}); }

    /// Returns the outputs as they were given to `call`, with one difference: `view_of` of a view is the
    /// position of the first input that has the view's storage.
    std::vector<Output> outputs_of(int op) const;
};

/// Sets names[id] to the trace's id `in_trace`. Ids are reused, so this can replace an older entry.
void name_as(std::vector<int>& names, int id, int in_trace);

}  // namespace rematlas
