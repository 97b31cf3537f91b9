// Sets the language of the window, of its pictures, and of Qt's own dialogs.
#pragma once

#include <QString>
#include <QStringList>

namespace rematlas::explorer {

/// The languages other than English that have a translation: "de".
QStringList languages();

/// Chooses the language. Must be called before there are widgets. If there is no translation for "de_AT",
/// "de" is used. Returns false if there is no translation at all; the language is then English.
bool speak(const QString& language);

/// Makes pictures use the application's translations. `speak` calls it; tests with another translator call it
/// directly.
void translate_pictures();

}  // namespace rematlas::explorer
