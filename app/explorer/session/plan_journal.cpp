#include "app/explorer/session/plan_journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/explorer/session/wording.h"
#include "core/base/files.h"
#include "core/schedule/schedule_file.h"

namespace rematlas::explorer {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "rematlas.session";
constexpr int kVersion = 1;

/// Follows a journal line by line.
class JournalReader {
  public:
    explicit JournalReader(std::string graph) : graph_(std::move(graph)) {}

    void read(std::string_view line) {
        const json note = json::parse(line, nullptr, false);
        if (!note.is_object()) return damage();
        try {
            if (note.contains("format")) return;
            if (note.at("graph").get<std::string>() == graph_) take(note);
        } catch (const json::exception&) {
            damage();
        }
    }
    KeptPlans kept;

  private:
    void damage() { ++kept.damaged; }

    void take(const json& note) {
        if (note.contains("shown")) {
            kept.shown = text(note.at("shown").get<std::string>());
            return;
        }
        const QString key = text(note.at("plan").get<std::string>());
        auto plan =
            std::find_if(kept.plans.begin(), kept.plans.end(), [&](const Plan& p) { return p.key == key; });
        if (note.contains("removed")) {
            if (plan != kept.plans.end()) kept.plans.erase(plan);
            return;
        }
        if (note.contains("schedule")) {
            Result<Schedule> schedule = parse_schedule(note.at("schedule").dump(), "session");
            if (!schedule || key_of(*schedule) != key) return damage();
            if (plan == kept.plans.end())
                plan = kept.plans.insert(plan, Plan{.key = key, .name = {}, .schedule = nullptr, .file = {}});
            plan->origin = origin_from(note.at("origin").get<std::string>()).value_or(Plan::Origin::solved);
            plan->schedule = std::make_shared<const Schedule>(schedule.take());
        }
        if (plan == kept.plans.end()) return damage();
        plan->name = text(note.at("name").get<std::string>());
        plan->starred = note.at("starred").get<bool>();
    }

    const std::string graph_;
};

std::string beginning_of(std::string_view sha256) {
    return std::string(sha256.substr(0, 16));
}

json names_of(const Plan& plan) {
    return {{"plan", plan.key.toStdString()}, {"name", plan.name.toStdString()}, {"starred", plan.starred}};
}

/// At the end of the file, which is made where there is none; a line that was cut off is ended first.
Result<void> append(const std::filesystem::path& path, std::string_view text) {
    const auto failure = [&] { return Error{path.string() + ": " + std::strerror(errno)}; };
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file < 0) return failure();
    std::string bytes(text);
    char last = '\n';
    const off_t size = ::lseek(file, 0, SEEK_END);
    if (size == 0) bytes.insert(0, json{{"format", kFormat}, {"version", kVersion}}.dump() + '\n');
    if (size > 0 && ::pread(file, &last, 1, size - 1) == 1 && last != '\n') bytes.insert(0, 1, '\n');
    std::size_t written = 0;
    while (written < bytes.size()) {
        const ssize_t more = ::write(file, bytes.data() + written, bytes.size() - written);
        if (more < 0 && errno == EINTR) continue;
        if (more < 0) {
            const Error error = failure();
            ::close(file);
            return error;
        }
        written += static_cast<std::size_t>(more);
    }
    const bool synced = ::fdatasync(file) == 0;
    const Error error = synced ? Error{} : failure();
    ::close(file);
    if (!synced) return error;
    return {};
}

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

KeptPlans read_journal(const std::filesystem::path& path, std::string_view graph_sha256) {
    JournalReader reader(beginning_of(graph_sha256));
    std::error_code none;
    if (path.empty() || !std::filesystem::is_regular_file(path, none)) return {};
    const Result<std::string> bytes = read_file(path);
    if (!bytes) return {};
    std::string_view rest = *bytes;
    while (!rest.empty()) {
        const std::size_t end = rest.find('\n');
        reader.read(rest.substr(0, end));
        if (end == std::string_view::npos) break;
        rest.remove_prefix(end + 1);
    }
    return std::move(reader.kept);
}

PlanJournal::PlanJournal(QObject* parent)
    : QObject(parent), thread_([this](const std::stop_token& stop) { work(stop); }) {}

PlanJournal::~PlanJournal() {
    flush();
}

void PlanJournal::open(const std::filesystem::path& path, const std::string& graph_sha256) {
    path_ = graph_sha256.empty() ? std::filesystem::path() : path;
    graph_ = beginning_of(graph_sha256);
    failed_ = false;
}

void PlanJournal::note_added(const Plan& plan) {
    json line = names_of(plan);
    line["origin"] = to_string(plan.origin);
    note(std::move(line), plan.schedule);
}

void PlanJournal::note_renamed(const Plan& plan) {
    note(names_of(plan));
}

void PlanJournal::note_removed(const QString& key) {
    note({{"plan", key.toStdString()}, {"removed", true}});
}

void PlanJournal::note_shown(const QString& key) {
    note({{"shown", key.toStdString()}});
}

void PlanJournal::note(json note, std::shared_ptr<const Schedule> schedule) {
    if (path_.empty() || failed_) return;
    note["graph"] = graph_;
    {
        const std::lock_guard lock(mutex_);
        lines_.push_back({path_, std::move(note), std::move(schedule)});
    }
    changed_.notify_all();
}

void PlanJournal::flush() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return lines_.empty() && !writing_; });
}

void PlanJournal::work(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return !lines_.empty(); })) {
        const Line line = std::move(lines_.front());
        lines_.pop_front();
        writing_ = true;
        lock.unlock();
        write(line);
        lock.lock();
        writing_ = false;
        changed_.notify_all();
    }
}

void PlanJournal::write(const Line& line) {
    json note = line.note;
    if (line.schedule) note["schedule"] = json::parse(schedule_text(*line.schedule));
    if (const Result<void> appended = append(line.path, note.dump() + '\n'); !appended) {
        const QString message = rematlas::explorer::text(appended.error().message);
        QMetaObject::invokeMethod(this, [this, message, path = line.path] {
            if (failed_ || path != path_) return;
            failed_ = true;
            emit cannot_write(message);
        });
    }
}

}  // namespace rematlas::explorer
