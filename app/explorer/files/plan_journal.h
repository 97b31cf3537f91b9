// Keeps the plans of a graph in a file next to the graph's file. Changes are written while people work, so
// that nothing is lost if the program crashes.
//
//     PlanJournal journal;
//     std::vector<PlanRow> plans = read_journal(path, graph.sha256).plans;
//     journal.open(path, graph.sha256);
//     journal.note_added(plan);                  // returns at once; a thread writes
//
// The file has one JSON object per line. While it is open, lines are only added; when it is opened, lines
// that no longer count are removed (journal_file.h). Lines that cannot be written, for example on a full
// disk, are tried again later. The first line is {"format": "rematlas.session", "version": 1}. Each other
// line says that a plan was added ({"graph", "plan": key, "name", "starred", "origin", "schedule"}), renamed
// or starred, removed, or shown. "graph" is the beginning of the graph's digest: lines of another graph of
// the same name stay in the file. A damaged line, for example a line that was cut off, is ignored.
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
    std::vector<PlanRow> plans;  ///< in the order of the list
    QString shown;               ///< key of the plan that was shown last; empty if no plan was shown
    int damaged = 0;             ///< lines that could not be read
};

/// Returns the path of the session file: for `gpt.graph.json`, `gpt.session.jsonl` in the same folder.
std::filesystem::path journal_path(const std::filesystem::path& graph_file);

/// Returns the plans of the graph in the lines of a session file.
KeptPlans plans_in_journal(std::string_view lines, std::string_view graph_sha256);

/// Reads the plans of the graph. Returns no plans if there is no file. Cost: reading and parsing the whole
/// file.
KeptPlans read_journal(const std::filesystem::path& path, std::string_view graph_sha256);

class PlanJournal : public QObject {
    Q_OBJECT
  public:
    PlanJournal();
    ~PlanJournal() override;  ///< writes the remaining lines

    /// Sets the file for the notes that follow. If the path is empty, these notes are dropped. The first note
    /// makes the file. An existing file is made smaller if many of its lines no longer count.
    void open(const std::filesystem::path& path, const std::string& graph_sha256);
    void note_added(const PlanRow& plan);
    /// Adds a plan to the session file of a graph that is not open any more.
    void note_added_to(const std::filesystem::path& path, std::string_view graph_sha256, const PlanRow& plan);
    void note_renamed(const PlanRow& plan);
    void note_removed(const QString& key);
    void note_shown(const QString& key);

    void flush();  ///< waits until each line is written, or writing it has failed
    bool failed() const { return failed_; }

  signals:
    /// Emitted if the file cannot be written. Lines are kept until the file can be written. Emitted only once
    /// before the next `wrote_again`.
    void cannot_write(const QString& message);
    void wrote_again();

  private:
    struct Line {
        std::filesystem::path path;
        nlohmann::json note;                       ///< if null, the file is made smaller instead
        std::shared_ptr<const Schedule> schedule;  ///< becomes part of the note; may be null
    };
    void note(nlohmann::json note, std::shared_ptr<const Schedule> schedule = nullptr);
    void work(const std::stop_token& stop);
    static Result<void> write(const Line& line);
    void tell(const std::filesystem::path& path, const Result<void>& written);
    void push(Line line);
    void try_again();         ///< takes back the lines that were put off; the lock must be held
    void put_off(Line line);  ///< the lock must be held

    std::filesystem::path path_;
    std::string graph_;  ///< the beginning of the graph's digest
    bool failed_ = false;

    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<Line> lines_;
    std::deque<Line> put_off_;  ///< lines that could not be written; older than `lines_` of the same file
    bool writing_ = false;
    std::jthread thread_;
};

}  // namespace rematlas::explorer
