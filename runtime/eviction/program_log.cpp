#include "runtime/eviction/program_log.h"

#include <utility>

namespace rematlas {

void ProgramLog::call(int op, Trace::Op called, const std::vector<Trace::Output>& outputs,
                      const std::vector<int>& tensors, std::string name) {
    for (int& t : called.inputs) t = tensors_[t];
    for (Trace::InPlace& pair : called.in_place) pair.input = tensors_[pair.input];
    name_as(ops_, op, static_cast<int>(trace_.ops.size()));
    const std::vector<int> made = trace_.call(std::move(called), outputs);
    for (std::size_t i = 0; i < made.size(); ++i) name_as(tensors_, tensors[i], made[i]);
    names_.push_back(std::move(name));
}

Trace ProgramLog::without_outside() const {
    Trace trace = trace_;
    std::vector<std::uint8_t> released(trace.tensors.size());
    for (const auto& [step, id] : trace.program)
        if (step == Trace::Step::release) released[id] = 1;
    for (std::size_t op = 0; op < trace.ops.size(); ++op) {
        const int tensor = trace.ops[op].outputs.front();
        if (names_[op] == "outside" && !released[tensor]) trace.bytes[trace.tensors[tensor].storage] = 0;
    }
    return trace;
}

void ProgramLog::step(Trace::Step step, int tensor) {
    trace_.program.push_back({step, step == Trace::Step::settle ? 0 : tensors_[tensor]});
}

void ProgramLog::begins() {
    events_.push_back({DtrEvent::Kind::call, static_cast<int>(trace_.ops.size())});
}

void ProgramLog::reran(int op) {
    events_.push_back({DtrEvent::Kind::rerun, ops_[op]});
}

void ProgramLog::dropped(int tensor) {
    events_.push_back({DtrEvent::Kind::drop, trace_.tensors[tensors_[tensor]].storage});
}

void ProgramLog::workspace(std::int64_t bytes) {
    trace_.ops.back().workspace = bytes;
}

}  // namespace rematlas
