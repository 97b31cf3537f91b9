// The language of the window, of its pictures, and of Qt's own boxes.
#pragma once

#include <QString>
#include <QStringList>

namespace rematlas::explorer {

/// Those that there is a translation for, beside English: "de".
QStringList languages();

/// Before there are widgets. "de_AT" is "de" where that is all there is; English where there is nothing.
/// False: English.
bool speak(const QString& language);

/// The words of pictures go the way of all others. Part of `speak`, and alone for tests with a translator of
/// their own.
void translate_pictures();

}  // namespace rematlas::explorer
