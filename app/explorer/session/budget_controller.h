// The budget as text, as bytes and as the position of a slider, always in step.
#pragma once

#include <QObject>
#include <QString>

#include "core/base/sizes.h"

namespace rematlas::explorer {

/// The slider runs over 0 .. `slider_steps`, from the smallest budget known to the peak without
/// recomputation.
class BudgetController : public QObject {
    Q_OBJECT
  public:
    static constexpr int slider_steps = 1000;
    using QObject::QObject;

    /// A new range. The budget starts at 60 % of the step's peak or at `smallest`, whichever is larger.
    void set_range(Bytes smallest, const StepBytes& step);
    /// Another budget is the smallest that is known to work. A budget that was set stays. The one from the
    /// beginning moves to the middle of the range where it is below `smallest`.
    void set_smallest(Bytes smallest);

    /// "2GiB", "60 %", "60% of activations", "123456". False, with `error` set, when it is no budget; the
    /// budget then stays as it was.
    bool set_text(const QString& text);
    /// Text follows as a size with four digits, rounded up so that the left end stays feasible.
    void set_slider(int position);
    void set_budget(Bytes budget);

    Bytes budget() const { return budget_; }
    /// Whether `set_budget(bytes)` would leave it as it is.
    bool is_text_of(Bytes bytes) const;
    Bytes smallest() const { return smallest_; }
    Bytes full() const { return step_.peak; }
    bool valid() const { return full().value > 0 && error_.isEmpty(); }
    QString text() const { return text_; }
    QString error() const { return error_; }
    int slider() const;
    /// "60.0 % of 1.35 GiB".
    QString share_text() const;

  signals:
    void changed();  ///< budget, text, slider or error
    void range_changed();

  private:
    Bytes smallest_, budget_;
    StepBytes step_;
    QString text_, error_;
    bool is_from_the_beginning_ = false;  ///< nobody has set the budget
};

}  // namespace rematlas::explorer
