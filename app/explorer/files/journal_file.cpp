#include "app/explorer/files/journal_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "app/explorer/files/journal_line.h"
#include "core/base/files.h"

namespace rematlas::explorer {
namespace {

using nlohmann::json;

constexpr const char* kJournalFormat = "rematlas.session";
constexpr int kJournalVersion = 1;

/// Opens the file at a path and locks it against other programs. If another program replaces the file before
/// the lock is taken, opens the new file. `get` returns -1 if opening failed; `errno` then says why.
class LockedFile {
  public:
    LockedFile(const std::filesystem::path& path, int flags) {
        do {
            close();
            file_ = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
            // If the file system has no locks, the file is used without one.
            if (file_ >= 0) ::flock(file_, LOCK_EX);
        } while (file_ >= 0 && !is_still(path));
    }
    ~LockedFile() { close(); }
    LockedFile(const LockedFile&) = delete;
    LockedFile& operator=(const LockedFile&) = delete;
    int get() const { return file_; }

  private:
    bool is_still(const std::filesystem::path& path) const {
        struct stat opened = {}, named = {};
        return ::fstat(file_, &opened) != 0 ||
               (::stat(path.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
                opened.st_dev == named.st_dev);
    }
    void close() {
        if (file_ >= 0) ::close(file_);
        file_ = -1;
    }
    int file_ = -1;
};

std::vector<std::string_view> lines_in(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        if (end != 0) lines.push_back(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return lines;
}

/// Reads the lines of a journal and empties the lines that no longer count.
class Compaction {
  public:
    explicit Compaction(std::string_view text) : lines_(lines_in(text)) {
        for (at_ = 0; at_ < lines_.size(); ++at_) {
            const std::optional<JournalLine> line = parse_journal_line(lines_[at_]);
            if (line)
                follow(*line);
            else
                lines_[at_] = {};
        }
    }
    std::string text() const {
        std::string all;
        for (const std::string_view line : lines_)
            if (!line.empty()) all.append(line).append("\n");
        return all;
    }

  private:
    static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
    struct Place {
        std::size_t plan = kNone, name = kNone;
    };

    void follow(const JournalLine& line) {
        using Kind = JournalLine::Kind;
        if (line.kind == Kind::format) {
            if (at_ > 0) lines_[at_] = {};
            return;
        }
        if (line.kind == Kind::shown) {
            replace(shown_.emplace(line.graph, kNone).first->second);
            return;
        }
        const std::pair key(line.graph, line.plan);
        Place& place = plans_[key];
        if (line.kind == Kind::removed) {
            for (const std::size_t old : {place.plan, place.name, at_})
                if (old != kNone) lines_[old] = {};
            plans_.erase(key);
        } else if (line.kind == Kind::added) {
            add(place);
        } else if (place.plan != kNone) {
            replace(place.name);
        } else {
            lines_[at_] = {};
        }
    }

    /// Removes the line with the index `line`, because the current line replaces it. Sets `line` to the index
    /// of the current line.
    void replace(std::size_t& line) {
        if (line != kNone) lines_[line] = {};
        line = at_;
    }

    /// Moves the current line to the place of the plan's earlier line `added`, so that a plan that is added
    /// again keeps its place in the list. Removes the plan's line `named`, because the current line has a
    /// name, too.
    void add(Place& place) {
        if (place.name != kNone) lines_[place.name] = {};
        place.name = kNone;
        if (place.plan == kNone) {
            place.plan = at_;
        } else {
            lines_[place.plan] = lines_[at_];
            lines_[at_] = {};
        }
    }

    std::vector<std::string_view> lines_;
    std::size_t at_ = 0;
    std::map<std::pair<std::string, std::string>, Place> plans_;  ///< lines of each plan; the keys are pairs
                                                                  ///< of a graph and a plan
    std::map<std::string, std::size_t> shown_;                    ///< for each graph, the last line that says
                                                                  ///< which plan is shown
};

}  // namespace

Result<void> append_line(const std::filesystem::path& path, std::string_view line) {
    const auto failure = [&] { return Error{path.string() + ": " + std::strerror(errno)}; };
    const LockedFile file(path, O_RDWR | O_CREAT | O_APPEND);
    if (file.get() < 0) return failure();
    std::string bytes = std::string(line) + '\n';
    char last = '\n';
    const off_t size = ::lseek(file.get(), 0, SEEK_END);
    if (size == 0)
        bytes.insert(0, json{{"format", kJournalFormat}, {"version", kJournalVersion}}.dump() + '\n');
    if (size > 0 && ::pread(file.get(), &last, 1, size - 1) == 1 && last != '\n') bytes.insert(0, 1, '\n');
    std::size_t written = 0;
    while (written < bytes.size()) {
        const ssize_t more = ::write(file.get(), bytes.data() + written, bytes.size() - written);
        if (more < 0 && errno == EINTR) continue;
        if (more < 0) return failure();
        written += static_cast<std::size_t>(more);
    }
    if (::fdatasync(file.get()) != 0) return failure();
    return {};
}

std::string compacted(std::string_view lines) {
    return Compaction(lines).text();
}

Result<void> compact_file(const std::filesystem::path& path) {
    const LockedFile file(path, O_RDWR);
    if (file.get() < 0) return {};  // there is no file, or it cannot be opened: nothing is made smaller
    const Result<std::string> before = read_file(path);
    if (!before) return before.error();
    const std::string after = compacted(*before);
    if (after.size() > before->size() / 2) return {};
    return write_file(path, after);
}

}  // namespace rematlas::explorer
