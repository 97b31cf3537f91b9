#include "app/explorer/session/budget_controller.h"

#include <QRegularExpression>
#include <algorithm>
#include <cmath>

#include "app/explorer/words/wording.h"

namespace rematlas::explorer {
namespace {

/// Parses a budget that a user has typed. Blanks between digits are allowed: "1 500 MB".
Result<Bytes> bytes_meant(const QString& text, const StepBytes& step) {
    static const QRegularExpression between_digits(QStringLiteral("(?<=\\d)\\s+(?=\\d)"));
    const Result<Budget> budget = parse_budget(QString(text).remove(between_digits).toStdString());
    if (!budget) return budget.error();
    return bytes_of(*budget, step);
}

}  // namespace

void BudgetController::set_range(Bytes smallest, const StepBytes& step) {
    step_ = step;
    smallest_ = std::min(smallest, full());
    emit range_changed();
    set_budget(std::max(smallest_, Bytes(full().value / 5 * 3)));
    is_from_the_beginning_ = true;
}

void BudgetController::set_smallest(Bytes smallest) {
    if (std::min(smallest, full()) == smallest_) return;
    smallest_ = std::min(smallest, full());
    emit range_changed();
    if (!is_from_the_beginning_ || budget_ >= smallest_) return emit changed();
    set_budget(smallest_ + Bytes((full() - smallest_).value / 2));
    is_from_the_beginning_ = true;
}

bool BudgetController::set_text(const QString& text) {
    text_ = text;
    is_from_the_beginning_ = false;
    const Result<Bytes> parsed = bytes_meant(text, step_);
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
    const double bytes = smallest_.value + share * static_cast<double>((full() - smallest_).value);
    set_budget(position >= slider_steps ? full() : Bytes(std::llround(bytes)));
}

void BudgetController::set_budget(Bytes budget) {
    error_.clear();
    is_from_the_beginning_ = false;
    text_ = precise_bytes(budget);
    const Result<Bytes> shown = bytes_meant(text_, step_);
    budget_ = shown ? *shown : budget;  // solvers get exactly the budget that the text says
    emit changed();
}

bool BudgetController::is_text_of(Bytes bytes) const {
    return text_ == precise_bytes(bytes);
}

int BudgetController::slider() const {
    if (full() <= smallest_) return slider_steps;
    const double share =
        static_cast<double>((budget_ - smallest_).value) / static_cast<double>((full() - smallest_).value);
    return static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * slider_steps));
}

QString BudgetController::share_text() const {
    if (full().value <= 0) return {};
    const double share = static_cast<double>(budget_.value) / static_cast<double>(full().value);
    if (share >= 2) return tr("%1 times the %2 of the step").arg(share, 0, 'f', 1).arg(bytes_text(full()));
    return tr("%1 of %2").arg(percent_text(share), bytes_text(full()));
}

}  // namespace rematlas::explorer
