#include "app/explorer/models/budget_controller.h"

#include <algorithm>
#include <cmath>

#include "app/explorer/models/wording.h"
#include "core/base/sizes.h"

namespace rematlas::explorer {

void BudgetController::set_range(Bytes smallest, Bytes full) {
    full_ = full;
    smallest_ = std::min(smallest, full);
    emit range_changed();
    set_budget(std::max(smallest_, Bytes(full.value / 5 * 3)));
}

void BudgetController::set_smallest(Bytes smallest) {
    smallest_ = std::min(smallest, full_);
    emit range_changed();
    emit changed();
}

bool BudgetController::set_text(const QString& text) {
    text_ = text;
    QString compact = text;
    compact.remove(' ');
    const Result<Bytes> parsed = parse_budget(compact.toStdString(), full_);
    if (parsed) {
        budget_ = *parsed;
        error_.clear();
    } else {
        error_ = rematlas::explorer::text(parsed.error().message);
    }
    emit changed();
    return error_.isEmpty();
}

void BudgetController::set_slider(int position) {
    const double share = std::clamp(position, 0, slider_steps) / static_cast<double>(slider_steps);
    const double bytes = smallest_.value + share * static_cast<double>((full_ - smallest_).value);
    set_budget(position >= slider_steps ? full_ : Bytes(std::llround(bytes)));
}

void BudgetController::set_budget(Bytes budget) {
    error_.clear();
    text_ = precise_bytes(budget);
    QString compact = text_;
    const Result<Bytes> shown = parse_budget(compact.remove(' ').toStdString(), full_);
    budget_ = shown ? *shown : budget;  // what is shown is what is solved
    emit changed();
}

int BudgetController::slider() const {
    if (full_ <= smallest_) return slider_steps;
    const double share =
        static_cast<double>((budget_ - smallest_).value) / static_cast<double>((full_ - smallest_).value);
    return static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * slider_steps));
}

QString BudgetController::share_text() const {
    if (full_.value <= 0) return {};
    const double share = static_cast<double>(budget_.value) / static_cast<double>(full_.value);
    return tr("%1 of %2").arg(percent_text(share), bytes_text(full_));
}

QString precise_bytes(Bytes bytes) {
    static const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int unit = 0;
    double value = static_cast<double>(bytes.value);
    while (value >= 1024 && unit < 4) {
        value /= 1024;
        ++unit;
    }
    if (unit == 0) return QStringLiteral("%1 B").arg(bytes.value);
    const int decimals = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;
    const double scale = std::pow(10.0, decimals);
    return QStringLiteral("%1 %2")
        .arg(std::ceil(value * scale - 1e-9) / scale, 0, 'f', decimals)
        .arg(units[unit]);
}

}  // namespace rematlas::explorer
