#include "app/explorer/session/compare_controller.h"

#include <QCoreApplication>
#include <cstdlib>

#include "app/explorer/session/wording.h"

namespace rematlas::explorer {
namespace {

QString put(const char* text) {
    return QCoreApplication::translate("Compare", text);
}

QString time_change(Nanoseconds time) {
    if (time.value == 0) return put("takes as long");
    const QString size = time_text(Nanoseconds(std::abs(time.value)));
    return (time.value > 0 ? put("takes %1 more") : put("takes %1 less")).arg(size);
}

QString peak_change(Bytes bytes) {
    if (bytes.value == 0) return put("needs as much memory");
    const QString size = bytes_text(Bytes(std::abs(bytes.value)));
    return (bytes.value > 0 ? put("needs %1 more at the peak") : put("needs %1 less at the peak")).arg(size);
}

}  // namespace

QString headline_of(const Compared& compared) {
    const Comparison& found = compared.found;
    QString line = put("%1 %2 and %3")
                       .arg(compared.name_b, time_change(found.time_b - found.time_a),
                            peak_change(found.peak_b - found.peak_a));
    if (found.more_runs > 0)
        line += put("; runs ops %1 times more, %2").arg(found.more_runs).arg(time_text(found.more_time));
    if (found.fewer_runs > 0)
        line += put("; runs ops %1 times less, %2").arg(found.fewer_runs).arg(time_text(found.fewer_time));
    return line + '.';
}

void CompareController::clear() {
    job_.cancel();
    set_compared(nullptr);
}

void CompareController::set_compared(ComparedPtr compared) {
    if (!compared && !compared_) return;
    compared_ = std::move(compared);
    emit changed();
}

void CompareController::compare_plans(SchedulePtr a, const QString& name_a, std::shared_ptr<const Schedule> b,
                                      const QString& name_b) {
    if (!a || !b || !a->ok()) return clear();
    job_.start([=, this](std::stop_token) -> BackgroundJob::Delivery {
        const SchedulePtr other = prepare_schedule(a->graph, *b);
        ComparedPtr compared;
        if (other->ok())
            compared = std::make_shared<const Compared>(
                Compared{a, other, name_a, name_b,
                         compare(a->graph->graph, {a->schedule.steps, a->simulation, a->schedule.homes},
                                 {other->schedule.steps, other->simulation, other->schedule.homes})});
        return [this, compared] { set_compared(compared); };
    });
}

}  // namespace rematlas::explorer
