// Keeps a budget as a text, as a number of bytes and as the position of a slider, so that the three always
// agree.
#pragma once

#include <QObject>
#include <QString>

#include "core/base/sizes.h"

namespace rematlas::explorer {

/// The slider has the positions 0 to `slider_steps`. They reach from the smallest known budget to the peak
/// without recomputation.
class BudgetController : public QObject {
    Q_OBJECT
  public:
    static constexpr int slider_steps = 1000;
    using QObject::QObject;

    /// Sets a new range. `smallest` is the smallest budget that is known to work, or a lower bound if none is
    /// known. The budget starts at 60 % of the step's peak or at `smallest`, whichever is larger.
    void set_range(Bytes smallest, const StepBytes& step);
    /// Changes the left end of the range. If the user has not set a budget yet, and the budget is below
    /// `smallest`, the budget becomes the middle of the range.
    void set_smallest(Bytes smallest);

    /// Parses a text such as "2GiB", "60 %", "60% of activations" or "123456". If the text is no budget,
    /// returns false, sets `error` and keeps the budget.
    bool set_text(const QString& text);
    /// Moves the slider. The text becomes a size with four digits, rounded up, so that at the left end of the
    /// slider the budget is not below the smallest known budget.
    void set_slider(int position);
    void set_budget(Bytes budget);

    Bytes budget() const { return budget_; }
    /// Says whether `set_budget(bytes)` would change nothing.
    bool is_text_of(Bytes bytes) const;
    Bytes smallest() const { return smallest_; }
    Bytes full() const { return step_.peak; }
    bool valid() const { return full().value > 0 && error_.isEmpty(); }
    QString text() const { return text_; }
    QString error() const { return error_; }
    int slider() const;
    /// Returns the budget as a share of the peak, for example "60.0 % of 1.35 GiB".
    QString share_text() const;

  signals:
    void changed();  ///< emitted when the budget, its text, the slider or the error has changed
    void range_changed();

  private:
    Bytes smallest_, budget_;
    StepBytes step_;
    QString text_, error_;
    bool is_from_the_beginning_ = false;  ///< true until the user sets the budget
};

}  // namespace rematlas::explorer
