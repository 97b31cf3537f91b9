// The selection of the user, shared by all views: a block or an op, the step of the schedule under the
// cursor, and the shown part of the schedule.
#pragma once

#include <QObject>
#include <QString>
#include <vector>

#include "app/explorer/loaded/step_range.h"
#include "core/base/ids.h"

namespace rematlas::explorer {

/// The selection: a block, a row of equal blocks, an op, or nothing.
struct Selected {
    BlockId block;  ///< the block; the first block of a row
    OpId op;
    std::vector<BlockId> run;  ///< all blocks of a row that is shown as one item; else empty

    static Selected of(BlockId block) { return {block, OpId(), {}}; }
    static Selected of(OpId op) { return {BlockId(), op, {}}; }
    static Selected of_run(std::vector<BlockId> run) { return {run.front(), OpId(), run}; }
    bool empty() const { return !block.valid() && !op.valid(); }
    bool operator==(const Selected&) const = default;
};

/// A request to show the lifetimes of tensors as bars. All of these tensors are held at the cursor.
struct LifetimesOf {
    TensorId tensor = {};  ///< the tensor to highlight; invalid if no tensor is highlighted
    QString part = {};     ///< the name of a band of the memory picture; empty for all bands
};

class Selection : public QObject {
    Q_OBJECT
  public:
    using QObject::QObject;

    const Selected& current() const { return current_; }
    int cursor() const { return cursor_; }  ///< index of a step; -1: none

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
    const StepRange& range() const { return range_; }
    void set_range(const StepRange& range) {
        if (range == range_) return;
        range_ = range;
        emit range_changed(range_);
    }
    /// Asks the graph view to show this block or op. The blocks around it are expanded if needed.
    void reveal(const Selected& selected) { emit reveal_requested(selected); }
    void ask_lifetimes(const LifetimesOf& of) { emit lifetimes_asked(of); }
    void clear() {
        select({});
        set_cursor(-1);
        set_range({});
    }

  signals:
    void changed(const rematlas::explorer::Selected& selected);
    void cursor_moved(int step);
    void range_changed(const rematlas::explorer::StepRange& range);
    void reveal_requested(const rematlas::explorer::Selected& selected);
    void lifetimes_asked(const rematlas::explorer::LifetimesOf& of);

  private:
    Selected current_;
    int cursor_ = -1;
    StepRange range_;
};

}  // namespace rematlas::explorer
