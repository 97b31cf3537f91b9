#include "runtime/replay/overwrites.h"

#include <ATen/ops/empty.h>

namespace rematlas {

bool Overwrites::copies(const Overwrite& overwrite, bool in_place) const {
    if (!overwrite.after.valid()) return false;
    return !in_place || model_.resident[overwrite.before];
}

void Overwrites::begin(OpId op, bool in_place, OperandTable& operands) {
    copies_.clear();
    for (const Overwrite& overwrite : model_.tape.ops[op].overwrites) {
        if (!copies(overwrite, in_place)) continue;
        const c10::Storage& original = operands.storage(overwrite.before);
        const auto options = c10::TensorOptions().dtype(c10::ScalarType::Byte).device(original.device());
        copies_.push_back(at::empty({static_cast<std::int64_t>(original.nbytes())}, options).storage());
        model_.device.copy(copies_.back(), original);
        operands.redirect(overwrite.before, copies_.back());
    }
}

void Overwrites::end(OpId op, bool in_place, OperandTable& operands) {
    std::size_t next = 0;
    for (const Overwrite& overwrite : model_.tape.ops[op].overwrites) {
        if (copies(overwrite, in_place)) {
            operands.redirect(overwrite.before, operands.storage(overwrite.before));
            operands.place(overwrite.after, std::move(copies_[next++]));
        } else if (overwrite.after.valid()) {
            c10::Storage storage = operands.storage(overwrite.before);
            operands.clear(overwrite.before);
            operands.place(overwrite.after, std::move(storage));
        }
    }
    copies_.clear();
}

}  // namespace rematlas
