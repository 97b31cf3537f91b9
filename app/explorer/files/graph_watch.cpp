#include "app/explorer/files/graph_watch.h"

#include <QFileInfo>

#include "core/base/files.h"
#include "core/planning/file_kind.h"

namespace rematlas::explorer {

GraphWatch::GraphWatch() {
    connect(&watcher_, &QFileSystemWatcher::fileChanged, this, &GraphWatch::look);
    connect(&watcher_, &QFileSystemWatcher::directoryChanged, this, &GraphWatch::look);
}

/// Does not watch a plan file, because `sha256` is the digest of the graph in it and not of the file.
void GraphWatch::watch(const QString& path, const std::string& sha256) {
    const QStringList before = watcher_.files() + watcher_.directories();
    if (!before.isEmpty()) watcher_.removePaths(before);
    const bool is_graph = !path.isEmpty() && file_kind(path.toStdString()) == FileKind::graph;
    path_ = is_graph ? path : QString();
    sha256_ = sha256;
    state_ = last_look_ = State::same;
    size_ = -1;
    if (path_.isEmpty()) return;
    watcher_.addPath(path_);
    watcher_.addPath(QFileInfo(path_).absolutePath());  // notices when a removed file appears again
}

GraphWatch::State GraphWatch::state_now() {
    const QFileInfo file(path_);
    if (!file.isFile()) {
        size_ = -1;
        return State::gone;
    }
    if (file.size() == size_ && file.lastModified() == looked_at_) return last_look_;
    size_ = file.size();
    looked_at_ = file.lastModified();
    const Result<std::string> bytes = read_file(path_.toStdString());
    return bytes && sha256(*bytes) == sha256_ ? State::same : State::replaced;
}

void GraphWatch::look() {
    if (path_.isEmpty()) return;
    last_look_ = state_now();
    if (last_look_ != State::gone && !watcher_.files().contains(path_)) watcher_.addPath(path_);
    if (last_look_ == state_) return;
    state_ = last_look_;
    emit changed();
}

}  // namespace rematlas::explorer
