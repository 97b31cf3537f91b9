// Sets the language of the window, of the pictures, and of Qt's own dialogs.
#pragma once

#include <QString>
#include <QStringList>

namespace rematlas::explorer {

/// Returns the languages other than English for which there is a translation: "de".
QStringList languages();

/// Chooses the language. Must be called before the first widget is made. "de_AT" falls back to "de". Returns
/// false if there is no translation; the language is then English.
bool speak(const QString& language);

/// Makes pictures use the application's translations. `speak` calls it; tests with another translator call it
/// directly.
void translate_pictures();

}  // namespace rematlas::explorer
