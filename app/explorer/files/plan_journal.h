// The plans of a graph, kept beside its file while people work, so that nothing is lost when the program
// dies.
//
//     PlanJournal journal;
//     std::vector<PlanRow> plans = read_journal(path, graph.sha256).plans;
//     journal.open(path, graph.sha256);
//     journal.note_added(plan);                  // returns at once; a thread writes
//
// A text file of JSON lines. While it is open it is only added to; at opening, what no longer counts is
// thrown out (journal_file.h). What cannot be written, on a full disk for example, is tried again later. The
// first line is {"format": "rematlas.session", "version": 1}; then comes one for each plan that was added
// ({"graph", "plan": key, "name", "starred", "origin", "schedule"}), renamed or starred, removed, or shown.
// "graph" is the beginning of the graph's digest: what another graph of the same name left stays in the file.
// A line that was cut off, or is damaged otherwise, counts as not there.
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

#include "app/explorer/models/plan_list.h"
#include "core/base/result.h"

namespace rematlas::explorer {

struct KeptPlans {
    std::vector<PlanRow> plans;  ///< in their order
    QString shown;               ///< key; empty: none
    int damaged = 0;             ///< lines that could not be read
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

    /// Where the following notes go; an empty path: nowhere. The file is made by the first note; one that is
    /// there is made smaller where it has grown.
    void open(const std::filesystem::path& path, const std::string& graph_sha256);
    void note_added(const PlanRow& plan);
    void note_renamed(const PlanRow& plan);
    void note_removed(const QString& key);
    void note_shown(const QString& key);

    void flush();  ///< waits until all is written, or cannot be
    bool failed() const { return failed_; }

  signals:
    /// The file cannot be written: what follows waits until it can. Not said again before `wrote_again`.
    void cannot_write(const QString& message);
    void wrote_again();

  private:
    struct Line {
        std::filesystem::path path;
        nlohmann::json note;                       ///< null: the file is made smaller
        std::shared_ptr<const Schedule> schedule;  ///< belongs into the note; or null
    };
    void note(nlohmann::json note, std::shared_ptr<const Schedule> schedule = nullptr);
    void work(const std::stop_token& stop);
    static Result<void> write(const Line& line);
    void tell(const std::filesystem::path& path, const Result<void>& written);
    void push(Line line);
    void try_again();         ///< with what was put off; under the lock
    void put_off(Line line);  ///< under the lock

    std::filesystem::path path_;
    std::string graph_;  ///< the beginning of its digest
    bool failed_ = false;

    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<Line> lines_;
    std::deque<Line> put_off_;  ///< could not be written; older than `lines_` of the same file
    bool writing_ = false;
    std::jthread thread_;
};

}  // namespace rematlas::explorer
