// Decides which files are opened, out of files and folders that were dropped on the window or named on the
// command line.
#pragma once

#include <QString>
#include <QStringList>

namespace rematlas::explorer {

struct ChosenFiles {
    QStringList files;     ///< files to read, a graph before the files that belong to it
    QString model;         ///< a model's file or Python function (python_source.h); empty if there is none
    QStringList measured;  ///< measurements by torch; each is shown in a separate window
    QStringList runs;      ///< run files of training; each is shown in a separate window
    QStringList left_out;  ///< one line for each file that is not opened, with the reason
};

/// A folder stands for the files in it that can be opened. At most one graph and one model are chosen;
/// further graphs and models are in `left_out`. If a file's name does not tell its kind, the beginning of the
/// file is read.
ChosenFiles choose_files(const QStringList& paths);

}  // namespace rematlas::explorer
