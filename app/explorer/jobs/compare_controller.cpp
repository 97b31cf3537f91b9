#include "app/explorer/jobs/compare_controller.h"

#include <cstdlib>

#include "app/explorer/words/wording.h"
#include "core/planning/known_answers.h"

namespace rematlas::explorer {
namespace {

QString time_change(Nanoseconds time) {
    if (time.value == 0) return CompareController::tr("takes as long");
    const QString size = time_text(Nanoseconds(std::abs(time.value)));
    return (time.value > 0 ? CompareController::tr("takes %1 more") : CompareController::tr("takes %1 less"))
        .arg(size);
}

QString peak_change(Bytes bytes) {
    if (bytes.value == 0) return CompareController::tr("needs as much memory");
    const QString size = bytes_text(Bytes(std::abs(bytes.value)));
    return (bytes.value > 0 ? CompareController::tr("needs %1 more at the peak")
                            : CompareController::tr("needs %1 less at the peak"))
        .arg(size);
}

/// Says how the plans differ in their use of the host; empty if they use it equally.
QString host_change(const Compared& compared) {
    const ScheduleDiff& found = compared.found;
    const HostUse &a = found.host_a, &b = found.host_b;
    QString line;
    if (found.left_device > 0)
        line += CompareController::tr(
                    "; runs %1 updates on the host instead of on the device, where they take %2")
                    .arg(found.left_device)
                    .arg(time_text(found.left_time));
    if (found.came_back > 0)
        line += CompareController::tr("; runs %1 updates on the device instead of on the host, %2")
                    .arg(found.came_back)
                    .arg(time_text(found.came_time));
    if (a.to_host != b.to_host || a.to_device != b.to_device)
        line += CompareController::tr("; copies %1 to the host and %2 back (%3: %4 and %5)")
                    .arg(bytes_text(b.to_host), bytes_text(b.to_device), compared.name_a,
                         bytes_text(a.to_host), bytes_text(a.to_device));
    if (a.peak != b.peak)
        line += CompareController::tr("; at most %1 lie on the host (%2: %3)")
                    .arg(bytes_text(b.peak), compared.name_a, bytes_text(a.peak));
    if (a.any() && b.any() &&
        copies_of(compared.a->graph->graph, compared.a->schedule).links !=
            copies_of(compared.b->graph->graph, compared.b->schedule).links)
        line += CompareController::tr("; over other links");
    return line;
}

}  // namespace

QString headline_of(const Compared& compared) {
    const ScheduleDiff& found = compared.found;
    QString line = CompareController::tr("%1 %2 and %3")
                       .arg(compared.name_b, time_change(found.time_b - found.time_a),
                            peak_change(found.peak_b - found.peak_a));
    if (found.more_runs > 0)
        line += CompareController::tr("; runs ops %1 times more, %2")
                    .arg(found.more_runs)
                    .arg(time_text(found.more_time));
    if (found.fewer_runs > 0)
        line += CompareController::tr("; runs ops %1 times less, %2")
                    .arg(found.fewer_runs)
                    .arg(time_text(found.fewer_time));
    return line + host_change(compared) + '.';
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
