// Keeps the budget as text, as bytes and as the position of a slider, always in agreement.
#pragma once

#include <QObject>
#include <QString>

#include "core/base/sizes.h"

namespace rematlas::explorer {

/// The slider has the positions 0 .. `slider_steps`, from the smallest budget known to the peak without
/// recomputation.
class BudgetController : public QObject {
    Q_OBJECT
  public:
    static constexpr int slider_steps = 1000;
    using QObject::QObject;

    /// Sets a new range. The budget starts at 60 % of the step's peak or at `smallest`, whichever is larger.
    void set_range(Bytes smallest, const StepBytes& step);
    /// Sets the smallest budget that is known to work. A budget that the user has set stays. The initial
    /// budget moves to the middle of the range if it is below `smallest`.
    void set_smallest(Bytes smallest);

    /// Parses "2GiB", "60 %", "60% of activations", "123456". Returns false and sets `error` if the text is
    /// no budget; the budget then stays as it was.
    bool set_text(const QString& text);
    /// Moves the slider. The text becomes a size with four digits, rounded up so that the left end stays
    /// feasible.
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
    /// Returns "60.0 % of 1.35 GiB".
    QString share_text() const;

  signals:
    void changed();  ///< budget, text, slider or error have changed
    void range_changed();

  private:
    Bytes smallest_, budget_;
    StepBytes step_;
    QString text_, error_;
    bool is_from_the_beginning_ = false;  ///< true while the user has not set the budget
};

}  // namespace rematlas::explorer
