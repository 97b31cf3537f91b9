// Recognizes Python functions among the words that people open: nets.py, nets.py:step,
// ssh://host/models/nets.py:step, package.module:step.
#pragma once

#include <optional>

#include "app/explorer/jobs/python_survey.h"

namespace rematlas::explorer {

/// Returns the file, module or function that the word names. Modules are looked for from the current folder.
/// Returns nullopt if the word does not name Python, or names a file of another kind.
std::optional<PythonSource> python_source(const QString& word);

/// Returns the word that opens the function again: /models/nets.py:step, or ssh://host/models/nets.py:step.
QString reopened_by(const std::optional<RemoteHost>& host, const QString& file, const QString& function);

}  // namespace rematlas::explorer
