// Recognizes Python functions among the arguments and file names that people open: nets.py, nets.py:step,
// ssh://host/models/nets.py:step, package.module:step.
#pragma once

#include <optional>

#include "app/explorer/jobs/python_survey.h"

namespace rematlas::explorer {

/// Returns the file, module or function that the word names. A module is searched from the current folder.
/// Returns nullopt if the word does not name Python code.
std::optional<PythonSource> python_source(const QString& word);

/// Returns the word by which the function can be opened again: /models/nets.py:step, or
/// ssh://host/models/nets.py:step.
QString reopened_by(const std::optional<RemoteHost>& host, const QString& file, const QString& function);

}  // namespace rematlas::explorer
