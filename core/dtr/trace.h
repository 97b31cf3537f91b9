// What a program does, as an online method sees it: ops called one after the other, views, references that
// come and go.
//
//     Trace trace;
//     const int x = trace.constant(100);
//     const int y = trace.call({.time = 5, .inputs = {x}}, {{.bytes = 10}}).front();
//     trace.release(y);
#pragma once

#include <cstdint>
#include <vector>

namespace rematlas {

/// Ids are positions in the lists. A tensor is a storage of its own or a view of another tensor's storage; a
/// storage is there once its first tensor is made, and its views are made again by their own ops. Times and
/// bytes are not negative, and neither sum passes 2^60.
struct Trace {
    /// The op can write `bytes` of its outputs over this input instead of taking them anew.
    struct InPlace {
        int input = 0;  ///< tensor
        std::int64_t bytes = 0;
    };
    struct Op {
        std::int64_t time = 0;       ///< in the unit of the trace
        std::int64_t workspace = 0;  ///< bytes taken while it runs
        bool recomputable = true;   ///< false: it runs once, and its outputs stay while a rerun can need them
        std::vector<int> inputs{};  ///< tensors
        std::vector<InPlace> in_place{};
        bool writes_over = false;  ///< the call itself writes over what is in `in_place`, whose contents are
                                   ///< gone; a rerun may or may not
        std::vector<int> outputs{};  ///< tensors; filled by `call`, at least one
    };
    struct Tensor {
        int op = 0;
        int storage = 0;
        bool view = false;
    };
    struct Output {
        std::int64_t bytes = 0;
        int view_of = -1;  ///< position in the op's inputs; such an output has no bytes of its own
    };
    /// A tensor has one reference when it is made.
    enum class Step {
        call,     ///< of an op
        retain,   ///< one more reference to a tensor
        release,  ///< one less
        pin,      ///< the tensor has to be there, and its storage stays from now on
        freeze,   ///< the same until it has no reference and no rerun can need it
        thaw,     ///< takes a pin or a freeze back
        lose,     ///< the contents of the tensor's storage are about to change behind the ops that read it:
                  ///< these cannot run again, and what the program still holds of theirs has to be there
        settle,   ///< a good moment to forget: a training step is over. No tensor
    };
    struct Instruction {
        Step step = Step::call;
        int id = 0;
    };

    std::vector<Op> ops;
    std::vector<Tensor> tensors;
    std::vector<std::int64_t> bytes;  ///< per storage
    std::vector<Instruction> program;
    std::int64_t total_time = 0;   ///< every call once
    std::int64_t total_bytes = 0;  ///< all storages and workspaces

    /// A tensor that is there from now on.
    int constant(std::int64_t bytes);
    /// Returns the outputs' tensors.
    const std::vector<int>& call(Op op, const std::vector<Output>& outputs);
    void retain(int tensor) { program.push_back({Step::retain, tensor}); }
    void release(int tensor) { program.push_back({Step::release, tensor}); }
    void pin(int tensor) { program.push_back({Step::pin, tensor}); }
    void freeze(int tensor) { program.push_back({Step::freeze, tensor}); }
    void thaw(int tensor) { program.push_back({Step::thaw, tensor}); }
    void lose(int tensor) { program.push_back({Step::lose, tensor}); }
    void settle() { program.push_back({Step::settle, 0}); }

    /// The outputs as they were given to `call`. A view refers to the first input in its storage.
    std::vector<Output> outputs_of(int op) const;
};

/// Ids come again: from now on `id` stands for the trace's id `in_trace`.
void name_as(std::vector<int>& names, int id, int in_trace);

}  // namespace rematlas
