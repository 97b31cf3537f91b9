#include "app/explorer/files/plan_journal.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "app/explorer/files/journal_file.h"
#include "app/explorer/files/journal_line.h"
#include "app/explorer/words/wording.h"
#include "core/base/files.h"
#include "core/schedule/schedule_file.h"

namespace rematlas::explorer {
namespace {

using nlohmann::json;

/// Reads the lines of one graph.
class JournalReader {
  public:
    explicit JournalReader(std::string graph) : graph_(std::move(graph)) {}

    void read(std::string_view text) {
        std::optional<JournalLine> line = parse_journal_line(text);
        if (!line) {
            ++kept.damaged;
        } else if (line->kind != JournalLine::Kind::format && line->graph == graph_) {
            take(std::move(*line));
        }
    }
    KeptPlans kept;

  private:
    void take(JournalLine line) {
        const QString key = text(line.plan);
        if (line.kind == JournalLine::Kind::shown) {
            kept.shown = key;
            return;
        }
        auto plan = std::find_if(kept.plans.begin(), kept.plans.end(),
                                 [&](const PlanRow& p) { return p.key == key; });
        const bool is_listed = plan != kept.plans.end();
        if (line.kind == JournalLine::Kind::removed) {
            if (is_listed) kept.plans.erase(plan);
            return;
        }
        if (line.kind == JournalLine::Kind::added) {
            if (!is_listed)
                plan =
                    kept.plans.insert(plan, PlanRow{.key = key, .name = {}, .schedule = nullptr, .file = {}});
            plan->origin = origin_from(line.origin).value_or(PlanRow::Origin::solved);
            plan->schedule = std::move(line.schedule);
        } else if (!is_listed) {
            ++kept.damaged;
            return;
        }
        plan->name = text(line.name);
        plan->starred = line.starred;
    }

    const std::string graph_;
};

std::string beginning_of(std::string_view sha256) {
    return std::string(sha256.substr(0, 16));
}

json names_of(const PlanRow& plan) {
    return {{"plan", plan.key.toStdString()}, {"name", plan.name.toStdString()}, {"starred", plan.starred}};
}

json added(const PlanRow& plan) {
    json note = names_of(plan);
    note["origin"] = to_string(plan.origin);
    return note;
}

/// Time between two attempts to write lines that could not be written
constexpr auto kTryAgain = std::chrono::seconds(5);

}  // namespace

std::filesystem::path journal_path(const std::filesystem::path& graph_file) {
    if (graph_file.empty()) return {};
    std::string name = graph_file.filename().string();
    for (const std::string_view ending : {".graph.json", ".json", ".plan"})
        if (name.size() > ending.size() && name.ends_with(ending)) {
            name.resize(name.size() - ending.size());
            break;
        }
    return graph_file.parent_path() / (name + ".session.jsonl");
}

KeptPlans plans_in_journal(std::string_view lines, std::string_view graph_sha256) {
    JournalReader reader(beginning_of(graph_sha256));
    while (!lines.empty()) {
        const std::size_t end = std::min(lines.find('\n'), lines.size());
        reader.read(lines.substr(0, end));
        lines.remove_prefix(std::min(end + 1, lines.size()));
    }
    return std::move(reader.kept);
}

KeptPlans read_journal(const std::filesystem::path& path, std::string_view graph_sha256) {
    std::error_code none;
    if (path.empty() || !std::filesystem::is_regular_file(path, none)) return {};
    const Result<std::string> lines = read_file(path);
    return lines ? plans_in_journal(*lines, graph_sha256) : KeptPlans{};
}

PlanJournal::PlanJournal() : thread_([this](const std::stop_token& stop) { work(stop); }) {}

PlanJournal::~PlanJournal() {
    flush();
}

void PlanJournal::open(const std::filesystem::path& path, const std::string& graph_sha256) {
    path_ = graph_sha256.empty() ? std::filesystem::path() : path;
    graph_ = beginning_of(graph_sha256);
    failed_ = false;
    if (!path_.empty()) push({path_, nullptr, nullptr});
}

void PlanJournal::note_added(const PlanRow& plan) {
    note(added(plan), plan.schedule);
}

void PlanJournal::note_added_to(const std::filesystem::path& path, std::string_view graph_sha256,
                                const PlanRow& plan) {
    json note = added(plan);
    note["graph"] = beginning_of(graph_sha256);
    push({path, std::move(note), plan.schedule});
}

void PlanJournal::note_renamed(const PlanRow& plan) {
    note(names_of(plan));
}

void PlanJournal::note_removed(const QString& key) {
    note({{"plan", key.toStdString()}, {"removed", true}});
}

void PlanJournal::note_shown(const QString& key) {
    note({{"shown", key.toStdString()}});
}

void PlanJournal::note(json note, std::shared_ptr<const Schedule> schedule) {
    if (path_.empty()) return;
    note["graph"] = graph_;
    push({path_, std::move(note), std::move(schedule)});
}

void PlanJournal::push(Line line) {
    {
        const std::lock_guard lock(mutex_);
        try_again();
        lines_.push_back(std::move(line));
    }
    changed_.notify_all();
}

void PlanJournal::try_again() {
    std::move(lines_.begin(), lines_.end(), std::back_inserter(put_off_));
    lines_ = std::exchange(put_off_, {});
}

/// Moves the line, and all later lines of the same file, to the lines that are tried again later.
void PlanJournal::put_off(Line line) {
    const std::filesystem::path path = line.path;
    put_off_.push_back(std::move(line));
    const auto later = std::stable_partition(lines_.begin(), lines_.end(),
                                             [&](const Line& other) { return other.path != path; });
    std::move(later, lines_.end(), std::back_inserter(put_off_));
    lines_.erase(later, lines_.end());
}

void PlanJournal::flush() {
    std::unique_lock lock(mutex_);
    try_again();
    changed_.notify_all();
    changed_.wait(lock, [this] { return lines_.empty() && !writing_; });
}

void PlanJournal::work(const std::stop_token& stop) {
    const auto some = [this] { return !lines_.empty(); };
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
        if (put_off_.empty()) {
            changed_.wait(lock, stop, some);
        } else if (!changed_.wait_for(lock, stop, kTryAgain, some)) {
            try_again();
        }
        if (lines_.empty()) continue;
        Line line = std::move(lines_.front());
        lines_.pop_front();
        writing_ = true;
        lock.unlock();
        const Result<void> written = write(line);
        tell(line.path, written);
        lock.lock();
        if (!written) put_off(std::move(line));
        writing_ = false;
        changed_.notify_all();
    }
}

Result<void> PlanJournal::write(const Line& line) {
    if (line.note.is_null()) {
        // The error is ignored: if the file cannot be made smaller, lines can still be added.
        static_cast<void>(compact_file(line.path));
        return {};
    }
    json note = line.note;
    if (line.schedule) note["schedule"] = json::parse(schedule_text(*line.schedule));
    return append_line(line.path, note.dump());
}

void PlanJournal::tell(const std::filesystem::path& path, const Result<void>& written) {
    const QString message = written ? QString() : rematlas::explorer::text(written.error().message);
    QMetaObject::invokeMethod(this, [this, message, path] {
        if (path != path_ || failed_ == !message.isEmpty()) return;
        failed_ = !message.isEmpty();
        if (failed_)
            emit cannot_write(message);
        else
            emit wrote_again();
    });
}

}  // namespace rematlas::explorer
