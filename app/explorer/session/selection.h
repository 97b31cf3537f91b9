// What the user has selected, shared by all views: a block or an op, and a step of the schedule under the
// cursor.
#pragma once

#include <QObject>

#include "core/base/ids.h"

namespace rematlas::explorer {

/// A block, an op, or nothing.
struct Selected {
    BlockId block;
    OpId op;

    static Selected of(BlockId block) { return {block, OpId()}; }
    static Selected of(OpId op) { return {BlockId(), op}; }
    bool empty() const { return !block.valid() && !op.valid(); }
    bool operator==(const Selected&) const = default;
};

class Selection : public QObject {
    Q_OBJECT
  public:
    using QObject::QObject;

    const Selected& current() const { return current_; }
    int cursor() const { return cursor_; }  ///< step index, -1 for none

    void select(const Selected& selected) {
        if (selected == current_) return;
        current_ = selected;
        emit changed(current_);
    }
    void set_cursor(int step) {
        if (step == cursor_) return;
        cursor_ = step;
        emit cursor_moved(cursor_);
    }
    /// The graph should show it, whatever it takes.
    void reveal(const Selected& selected) { emit reveal_requested(selected); }
    void clear() {
        select({});
        set_cursor(-1);
    }

  signals:
    void changed(const rematlas::explorer::Selected& selected);
    void cursor_moved(int step);
    void reveal_requested(const rematlas::explorer::Selected& selected);

  private:
    Selected current_;
    int cursor_ = -1;
};

}  // namespace rematlas::explorer
