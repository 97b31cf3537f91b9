#include "app/explorer/files/chosen_files.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <algorithm>

#include "app/explorer/files/model_file.h"
#include "app/explorer/files/open_file.h"
#include "app/explorer/files/python_source.h"

namespace rematlas::explorer {
namespace {

/// Returns the graph, schedule, sweep and plan files in the folder, recognized by their names.
QStringList our_files_in(const QString& folder) {
    QStringList found;
    const QStringList names{"*.graph.json", "*.schedule.json", "*.sweep.json", "*.plan"};
    for (const QFileInfo& file : QDir(folder).entryInfoList(names, QDir::Files, QDir::Name))
        found << file.filePath();
    return found;
}

/// Returns the rank of this kind of file in the order of opening: files with a smaller rank are opened
/// earlier. A graph is opened before files that can belong to it.
int opening_place(FileKind kind) {
    switch (kind) {
        case FileKind::graph:
            return 0;
        case FileKind::plan:
            return 1;
        case FileKind::schedule:
            return 2;
        default:
            return 3;
    }
}

bool is_some_model(const QString& path, FileKind kind) {
    return kind == FileKind::model || python_source(path) ||
           (kind == FileKind::unknown && needs_help(look_at_model(path.toStdString())));
}

}  // namespace

ChosenFiles choose_files(const QStringList& paths) {
    ChosenFiles chosen;
    QStringList all;
    for (const QString& path : paths) {
        if (!QFileInfo(path).isDir()) {
            all << path;
            continue;
        }
        const QStringList inside = our_files_in(path);
        if (inside.isEmpty())
            chosen.left_out << QCoreApplication::translate(
                                   "ChosenFiles", "%1: in this folder is no graph, schedule, sweep or plan")
                                   .arg(path);
        all += inside;
    }
    QString graph;
    for (const QString& path : all) {
        const FileKind kind = file_kind(path.toStdString());
        const bool is_model = is_some_model(path, kind);
        if (!is_model && is_read_as_measurement(path.toStdString())) {
            chosen.measured << path;
        } else if (kind == FileKind::run) {
            chosen.runs << path;
        } else if (is_model) {
            if (chosen.model.isEmpty())
                chosen.model = path;
            else
                chosen.left_out << QCoreApplication::translate("ChosenFiles",
                                                               "%1: one model is captured at a time")
                                       .arg(path);
        } else if (kind == FileKind::graph && !graph.isEmpty()) {
            chosen.left_out << QCoreApplication::translate(
                                   "ChosenFiles", "%1: one graph is open at a time, and %2 is opened")
                                   .arg(path, QFileInfo(graph).fileName());
        } else {
            if (kind == FileKind::graph) graph = path;
            chosen.files << path;
        }
    }
    std::stable_sort(chosen.files.begin(), chosen.files.end(), [](const QString& a, const QString& b) {
        return opening_place(file_kind(a.toStdString())) < opening_place(file_kind(b.toStdString()));
    });
    return chosen;
}

}  // namespace rematlas::explorer
