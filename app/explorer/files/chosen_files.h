// Decides what to open among files and folders that were dropped on the window or named on the command line.
#pragma once

#include <QString>
#include <QStringList>

namespace rematlas::explorer {

struct ChosenFiles {
    QStringList files;  ///< files to read, a graph before the files that belong to it
    QString
        model;  ///< model to capture or to help with: a file or Python function (python_source.h); or empty
    QStringList measured;  ///< torch's measurements; each is shown in a separate window
    QStringList runs;      ///< run files of training; each is shown in a separate window
    QStringList left_out;  ///< what is not opened and why, one line each
};

/// A folder stands for the files in it that can be opened. Only one graph and one model are chosen; others
/// are left out. Reads the beginnings of files whose names do not tell their kind.
ChosenFiles choose_files(const QStringList& paths);

}  // namespace rematlas::explorer
