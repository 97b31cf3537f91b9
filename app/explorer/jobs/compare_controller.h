// Compares two plans: `a`, which is the shown plan, and `b`.
#pragma once

#include <QObject>
#include <QString>
#include <memory>

#include "app/explorer/jobs/background_job.h"
#include "app/explorer/loaded/loaded_schedule.h"
#include "core/schedule/schedule_diff.h"

namespace rematlas::explorer {

/// The two plans and their differences. Views share this object.
struct Compared {
    SchedulePtr a, b;
    QString name_a, name_b;
    ScheduleDiff found;
};
using ComparedPtr = std::shared_ptr<const Compared>;

class CompareController : public QObject {
    Q_OBJECT
  public:
    /// Compares the plans in the background and then emits `changed`. If a schedule is null or does not pass
    /// the check, `compared` is null afterwards.
    void compare_plans(SchedulePtr a, const QString& name_a, std::shared_ptr<const Schedule> b,
                       const QString& name_b);
    void clear();
    bool running() const { return job_.running(); }

    /// The plans that are compared now; null if there are none.
    const ComparedPtr& compared() const { return compared_; }

  signals:
    void changed();

  private:
    void set_compared(ComparedPtr compared);

    ComparedPtr compared_;
    BackgroundJob job_;
};

/// Returns the differences in one line: "B takes 5.9 ms less and needs 148 MiB more at the peak; runs ops 87
/// times less, 6.2 ms."
QString headline_of(const Compared& compared);

}  // namespace rematlas::explorer
