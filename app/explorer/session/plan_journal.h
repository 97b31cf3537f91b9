// The plans of a graph, kept beside its file while people work, so that nothing is lost when the program dies.
//
//     PlanJournal journal;
//     std::vector<Plan> plans = read_journal(path, graph.sha256).plans;
//     journal.open(path, graph.sha256);
//     journal.note_added(plan);                  // returns at once; a thread writes
//
// A text file of JSON lines, only ever added to. The first is {"format": "rematlas.session", "version": 1}; then
// comes one for each plan that was added ({"graph", "plan": key, "name", "starred", "origin", "schedule"}), renamed
// or starred, removed, or shown. "graph" is the beginning of the graph's digest: what another graph of the same
// name left stays in the file. A line that was cut off, or is damaged otherwise, counts as not there.
#pragma once

#include <QObject>
#include <QString>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "app/explorer/session/plan_list.h"

namespace rematlas::explorer {

struct KeptPlans {
    std::vector<Plan> plans;  ///< in their order
    QString shown;            ///< key; empty: none
    int damaged = 0;          ///< lines that could not be read
};

/// `gpt.session.jsonl` beside `gpt.graph.json`.
std::filesystem::path journal_path(const std::filesystem::path& graph_file);

/// Nothing where there is no file. Cost: reading and parsing all of it.
KeptPlans read_journal(const std::filesystem::path& path, std::string_view graph_sha256);

class PlanJournal : public QObject {
    Q_OBJECT
  public:
    explicit PlanJournal(QObject* parent = nullptr);
    ~PlanJournal() override;  ///< writes what is left

    /// Where the following notes go; an empty path: nowhere. The file is made by the first note.
    void open(const std::filesystem::path& path, const std::string& graph_sha256);
    void note_added(const Plan& plan);
    void note_renamed(const Plan& plan);
    void note_removed(const QString& key);
    void note_shown(const QString& key);

    void flush();  ///< waits until all is written
    bool failed() const { return failed_; }

  signals:
    /// Once for each file: it cannot be written, so that what follows is not kept.
    void cannot_write(const QString& message);

  private:
    struct Line {
        std::filesystem::path path;
        nlohmann::json note;
        std::shared_ptr<const Schedule> schedule;  ///< belongs into the note; or null
    };
    void note(nlohmann::json note, std::shared_ptr<const Schedule> schedule = nullptr);
    void work(const std::stop_token& stop);
    void write(const Line& line);

    std::filesystem::path path_;
    std::string graph_;  ///< the beginning of its digest
    bool failed_ = false;

    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<Line> lines_;
    bool writing_ = false;
    std::jthread thread_;
};

}  // namespace rematlas::explorer
