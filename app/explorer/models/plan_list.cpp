#include "app/explorer/models/plan_list.h"

#include <QFont>
#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "app/explorer/models/csv_table.h"
#include "app/explorer/words/wording.h"
#include "core/base/files.h"

namespace rematlas::explorer {
namespace {

struct OriginWords {
    std::string_view in_files;
    const char* shown;
};

/// The words for each origin, in the order of the enumeration.
constexpr OriginWords kOrigins[] = {{"all kept", QT_TRANSLATE_NOOP("PlanList", "all kept")},
                                    {"solved", QT_TRANSLATE_NOOP("PlanList", "solved")},
                                    {"swept", QT_TRANSLATE_NOOP("PlanList", "found by a sweep")},
                                    {"opened", QT_TRANSLATE_NOOP("PlanList", "opened")},
                                    {"best so far", QT_TRANSLATE_NOOP("PlanList", "best so far, found")}};

/// Returns the name with this number. The names are, from number 0 on: A, B .. Z, AA, AB ..
QString letters(int number) {
    QString name;
    for (; number >= 0; number = number / 26 - 1) name.prepend(QChar('A' + number % 26));
    return name;
}

/// Appends numbers to equal names. Plans of sweeps keep their names, because these contain the budget.
void make_names_unique(std::vector<PlanRow>& plans) {
    std::set<QString> names;
    for (PlanRow& plan : plans) {
        const QString name = plan.name;
        for (int number = 2; plan.origin != PlanRow::Origin::swept && names.count(plan.name) > 0; ++number)
            plan.name = QStringLiteral("%1 %2").arg(name).arg(number);
        names.insert(plan.name);
    }
}

}  // namespace

std::string_view to_string(PlanRow::Origin origin) {
    return kOrigins[static_cast<std::size_t>(origin)].in_files;
}

std::optional<PlanRow::Origin> origin_from(std::string_view text) {
    const auto found = std::find_if(std::begin(kOrigins), std::end(kOrigins),
                                    [&](const OriginWords& words) { return words.in_files == text; });
    if (found == std::end(kOrigins)) return std::nullopt;
    return static_cast<PlanRow::Origin>(found - std::begin(kOrigins));
}

QString key_of(const Schedule& schedule) {
    std::string bytes = schedule.solver + ' ' + std::to_string(schedule.budget.value);
    for (const Step& step : schedule.steps) {
        bytes += ' ';
        bytes += to_string(step.kind).front();
        if (step.kind == StepKind::run_inplace) bytes += 'i';
        if (step.kind == StepKind::run_host) bytes += 'h';
        bytes += step.kind == StepKind::free ? "-" : step.kind == StepKind::fetch ? "+" : "";
        bytes += std::to_string(step.id);
    }
    if (schedule.links) {
        const Links& links = *schedule.links;
        for (const double speed :
             {links.to_host_bytes_per_second, links.to_device_bytes_per_second,
              links.to_host_contended_bytes_per_second, links.to_device_contended_bytes_per_second})
            bytes += " over " + std::to_string(speed);
        bytes += " after " + std::to_string(links.copy_latency.value);
    }
    for (const Pin& pin : schedule.pins) bytes += " pin " + to_string(pin);
    for (const TensorId home : schedule.homes.on_host) bytes += " home " + std::to_string(home.value);
    for (const TensorId stays : schedule.homes.stays) bytes += " stays " + std::to_string(stays.value);
    if (schedule.homes.cyclic) bytes += " cyclic";
    if (schedule.addresses) bytes += " in " + std::to_string(schedule.addresses->arena.value);
    return text(sha256(bytes)).left(16);
}

int PlanList::add(Schedule schedule, PlanRow::Origin origin, const std::filesystem::path& file) {
    PlanRow plan{.key = key_of(schedule), .name = {}, .origin = origin, .schedule = nullptr, .file = file};
    if (const int known = row_of(plan.key); known != none) {
        if (!file.empty()) plans_[static_cast<std::size_t>(known)].file = file;
        return known;
    }
    plan.name = origin == PlanRow::Origin::all_kept      ? tr("all kept")
                : origin == PlanRow::Origin::swept       ? swept_name(schedule)
                : origin == PlanRow::Origin::best_so_far ? tr("%1, best so far").arg(next_name())
                                                         : next_name();
    plan.schedule = std::make_shared<const Schedule>(std::move(schedule));
    int row = rowCount();
    bool was_shown = false;
    if (origin == PlanRow::Origin::swept) {
        if (const int twin = swept_twin(*plan.schedule); twin != none) {
            const PlanRow& other = this->plan(twin);
            if (other.starred || other.schedule->budget <= plan.schedule->budget) return twin;
            row = twin;
        } else if (const int before = swept_at(*plan.schedule); before != none) {
            row = before;
        }
        if (row < rowCount()) {
            const PlanRow& other = this->plan(row);
            if (other.name != swept_name(*other.schedule)) plan.name = other.name;
            was_shown = row == shown();
            take(row);
        }
    }
    insert(row, std::move(plan));
    if (was_shown) show(row);
    return row;
}

/// Returns the first row whose plan `is_wanted` accepts; `none` if there is no such plan.
int PlanList::first_row(const std::function<bool(const PlanRow&)>& is_wanted) const {
    const auto found = std::find_if(plans_.begin(), plans_.end(), is_wanted);
    return found == plans_.end() ? none : static_cast<int>(found - plans_.begin());
}

/// Returns the row of a plan that a sweep found with the same solver, steps and pins as `schedule`; `none` if
/// there is no such plan.
int PlanList::swept_twin(const Schedule& schedule) const {
    return first_row([&](const PlanRow& other) {
        return other.origin == PlanRow::Origin::swept && other.schedule->solver == schedule.solver &&
               other.schedule->pins == schedule.pins && other.schedule->steps == schedule.steps;
    });
}

/// Says whether two plans can be points of one curve of a sweep, judged by their copies and links.
bool copy_alike(const Schedule& a, const Schedule& b) {
    const auto over = [](const Schedule& plan) { return plan.bound ? plan.bound->over : std::nullopt; };
    return a.host_peak.has_value() == b.host_peak.has_value() && a.links == b.links && over(a) == over(b);
}

/// Returns the row of the sweep's plan that `schedule` replaces: a plan that is not starred, and has the
/// solver, budget and copies of `schedule`. Returns `none` if there is no such plan.
int PlanList::swept_at(const Schedule& schedule) const {
    return first_row([&](const PlanRow& other) {
        return other.origin == PlanRow::Origin::swept && !other.starred &&
               other.schedule->solver == schedule.solver && other.schedule->budget == schedule.budget &&
               copy_alike(*other.schedule, schedule);
    });
}

void PlanList::clear() {
    beginResetModel();
    plans_.clear();
    removed_.clear();
    visited_.clear();
    at_ = 0;
    shown_.clear();
    endResetModel();
}

void PlanList::restore(std::vector<PlanRow> plans) {
    std::erase_if(plans, [this](const PlanRow& plan) { return row_of(plan.key) != none; });
    if (plans.empty()) return;
    make_names_unique(plans);
    beginInsertRows({}, rowCount(), rowCount() + static_cast<int>(plans.size()) - 1);
    std::move(plans.begin(), plans.end(), std::back_inserter(plans_));
    endInsertRows();
}

int PlanList::row_of(const QString& key) const {
    if (key.isEmpty()) return none;
    return first_row([&](const PlanRow& plan) { return plan.key == key; });
}

void PlanList::insert(int row, PlanRow plan) {
    beginInsertRows({}, row, row);
    plans_.insert(plans_.begin() + row, std::move(plan));
    endInsertRows();
    emit plan_added(row);
}

void PlanList::take(int row) {
    const QString key = plan(row).key;
    beginRemoveRows({}, row, row);
    plans_.erase(plans_.begin() + row);
    endRemoveRows();
    emit plan_removed(key);
    if (key == shown_) set_shown({});
}

void PlanList::rename(int row, const QString& name) {
    PlanRow& plan = plans_[static_cast<std::size_t>(row)];
    const QString given = name.trimmed();
    if (given.isEmpty() || given == plan.name) return;
    plan.name = given;
    emit dataChanged(index(row, Column::name), index(row, Column::name));
    emit plan_renamed(row);
}

void PlanList::set_starred(int row, bool starred) {
    PlanRow& plan = plans_[static_cast<std::size_t>(row)];
    if (plan.starred == starred) return;
    plan.starred = starred;
    emit dataChanged(index(row, Column::star), index(row, Column::star));
    emit plan_renamed(row);
}

void PlanList::remove(int row) {
    removed_.push_back({row, plan(row)});
    take(row);
}

void PlanList::undo_remove() {
    if (removed_.empty()) return;
    Removed last = std::move(removed_.back());
    removed_.pop_back();
    if (row_of(last.plan.key) == none) insert(std::min(last.row, rowCount()), last.plan);
    // If the removed plan was the shown plan, shows it again.
    if (shown() == none) show(row_of(last.plan.key));
}

void PlanList::show(int row) {
    const QString key = row == none ? QString() : plan(row).key;
    if (key == shown_) return;
    if (!key.isEmpty()) {
        if (!visited_.empty()) visited_.resize(at_ + 1);
        if (visited_.empty() || visited_.back() != key) visited_.push_back(key);
        at_ = visited_.size() - 1;
    }
    set_shown(key);
}

void PlanList::set_shown(const QString& key) {
    shown_ = key;
    if (rowCount() > 0)
        emit dataChanged(index(0, 0), index(rowCount() - 1, column_count - 1), {Qt::FontRole});
    emit shown_changed();
}

bool PlanList::can_go(int direction) const {
    for (std::size_t at = at_ + static_cast<std::size_t>(direction); at < visited_.size();
         at += static_cast<std::size_t>(direction))
        if (row_of(visited_[at]) != none) return true;
    return false;
}

void PlanList::go(int direction) {
    if (!can_go(direction)) return;
    do at_ += static_cast<std::size_t>(direction);
    while (row_of(visited_[at_]) == none);
    set_shown(visited_[at_]);
}

/// Returns the name for a plan of a sweep: its solver and its budget. Solved and opened plans have letters as
/// names.
QString PlanList::swept_name(const Schedule& schedule) {
    return tr("%1 at %2").arg(text(schedule.solver), bytes_text(schedule.budget));
}

/// Returns the first letter that is not the name of a plan in the list or of a removed plan.
QString PlanList::next_name() const {
    for (int number = 0;; ++number) {
        const QString name = letters(number);
        const auto has = [&](const PlanRow& plan) { return plan.name == name; };
        const auto had = [&](const Removed& removed) { return removed.plan.name == name; };
        if (std::none_of(plans_.begin(), plans_.end(), has) &&
            std::none_of(removed_.begin(), removed_.end(), had))
            return name;
    }
}

int PlanList::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(plans_.size());
}

int PlanList::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : column_count;
}

std::optional<double> PlanList::proven(const PlanRow& plan) const {
    return bound_of_ ? bound_of_(plan) : std::nullopt;
}

void PlanList::note_bounds_changed() {
    if (rowCount() > 0) emit dataChanged(index(0, Column::bound), index(rowCount() - 1, Column::bound));
}

QString PlanList::text_at(const PlanRow& plan, int column) const {
    const Schedule& schedule = *plan.schedule;
    const std::optional<double> plan_bound = column == Column::bound ? proven(plan) : std::nullopt;
    switch (column) {
        case Column::star:
            return plan.starred ? QStringLiteral("★") : QStringLiteral("☆");
        case Column::name:
            return plan.name;
        case Column::peak:
            return bytes_text(schedule.peak);
        case Column::overhead:
            return overhead_text(schedule.overhead);
        case Column::bound:
            return plan_bound ? overhead_text(*plan_bound) : QString();
        case Column::budget:
            return schedule.budget.value > 0 ? bytes_text(schedule.budget) : QString();
        case Column::solver:
            return text(schedule.solver);
        case Column::seconds:
            return schedule.solve_seconds > 0
                       ? time_text(Nanoseconds(static_cast<std::int64_t>(schedule.solve_seconds * 1e9)))
                       : QString();
        default:
            return {};
    }
}

QVariant PlanList::sort_value(const PlanRow& plan, int column) const {
    const Schedule& schedule = *plan.schedule;
    switch (column) {
        case Column::star:
            return plan.starred ? 0 : 1;
        case Column::peak:
            return static_cast<qint64>(schedule.peak.value);
        case Column::overhead:
            return schedule.overhead;
        case Column::bound:
            return proven(plan).value_or(0.0);
        case Column::budget:
            return static_cast<qint64>(schedule.budget.value);
        case Column::seconds:
            return schedule.solve_seconds;
        default:
            return text_at(plan, column);
    }
}

QVariant PlanList::data(const QModelIndex& index, int role) const {
    if (!index.isValid()) return {};
    const PlanRow& plan = this->plan(index.row());
    switch (role) {
        case Qt::DisplayRole:
            return text_at(plan, index.column());
        case Qt::EditRole:
            return plan.name;
        case Qt::TextAlignmentRole:
            return int(Qt::AlignVCenter) |
                   (index.column() >= peak && index.column() != solver ? Qt::AlignRight : Qt::AlignLeft);
        case Qt::FontRole: {
            QFont font;
            font.setBold(plan.key == shown_);
            return font;
        }
        case Qt::ToolTipRole:
            if (index.column() == star)
                return plan.starred ? tr("Starred: sweeps leave it") : tr("Click to star");
            return plan.file.empty() ? tr("%1 by %2")
                                           .arg(tr(kOrigins[static_cast<std::size_t>(plan.origin)].shown),
                                                text(plan.schedule->solver))
                                     : text(plan.file.string());
        case Qt::AccessibleTextRole:
            if (index.column() == star) return plan.starred ? tr("starred") : tr("not starred");
            return {};
        case sort_role:
            return sort_value(plan, index.column());
        default:
            return {};
    }
}

QVariant PlanList::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal) return {};
    const std::pair<QString, QString> headers[] = {
        {QString(), tr("Starred plans")},
        {tr("Plan"), tr("Its name; F2 changes it")},
        {tr("Peak"), tr("The most memory that it holds")},
        {tr("Time"), tr("What it takes longer than the step without recomputation")},
        {tr("At best"),
         tr("No schedule within the budget, and under the pins where there are any, takes less")},
        {tr("Budget"), tr("What it was asked to keep")},
        {tr("Solver"), tr("What found it")},
        {tr("Found in"), tr("How long the solver took")},
    };
    if (role == Qt::DisplayRole) return headers[section].first;
    if (role == Qt::ToolTipRole) return headers[section].second;
    if (role == unit_role && (section == peak || section == budget)) return "bytes";
    if (role == unit_role && (section == overhead || section == bound)) return "ratio";
    if (role == unit_role && section == seconds) return "s";
    return {};
}

bool PlanList::setData(const QModelIndex& index, const QVariant& value, int role) {
    if (!index.isValid() || index.column() != name || role != Qt::EditRole) return false;
    rename(index.row(), value.toString());
    return true;
}

Qt::ItemFlags PlanList::flags(const QModelIndex& index) const {
    const Qt::ItemFlags flags = QAbstractTableModel::flags(index);
    return index.column() == name ? flags | Qt::ItemIsEditable : flags;
}

}  // namespace rematlas::explorer
