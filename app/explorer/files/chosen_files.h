// What is to be opened of files and folders that were dropped on the window or named on the command line.
#pragma once

#include <QString>
#include <QStringList>

namespace rematlas::explorer {

struct ChosenFiles {
    QStringList files;  ///< to read, a graph before what belongs to it
    QString
        model;  ///< to capture, or to say how: a file, or a function of Python (python_source.h); may be empty
    QStringList measured;  ///< by torch: each is shown in a window of its own
    QStringList runs;      ///< of training: the same
    QStringList left_out;  ///< a line each, for people
};

/// A folder stands for the files in it that can be opened. One graph and one model at a time: others are left
/// out. Reads the beginnings of files whose names say nothing.
ChosenFiles choose_files(const QStringList& paths);

}  // namespace rematlas::explorer
