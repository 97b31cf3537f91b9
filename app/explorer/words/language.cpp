#include "app/explorer/words/language.h"

#include <QCoreApplication>
#include <QDir>
#include <QLibraryInfo>
#include <QTranslator>
#include <cstring>

#include "viz/paint/words.h"

/// Loads the translations, which are in a static library. Qt does not load the resources of such a library by
/// itself. The macro must be used outside of namespaces.
static void load_translations() {
#ifdef REMATLAS_TRANSLATIONS
    Q_INIT_RESOURCE(translations);
#endif
}

namespace rematlas::explorer {
namespace {

/// Looks up translations by class names without namespaces. The tool that collects the texts from C++ leaves
/// out the namespaces.
class WithoutNamespace : public QTranslator {
  public:
    using QTranslator::QTranslator;
    QString translate(const char* context, const char* source, const char* comment, int n) const override {
        constexpr const char* space = "rematlas::explorer::";
        const bool ours = std::strncmp(context, space, std::strlen(space)) == 0;
        return QTranslator::translate(ours ? context + std::strlen(space) : context, source, comment, n);
    }
};

std::string picture_words(const char* context, const char* english) {
    return QCoreApplication::translate(context, english).toStdString();
}

}  // namespace

QStringList languages() {
    load_translations();
    QStringList found;
    for (const QString& file : QDir(QStringLiteral(":/translations")).entryList({"rematlas_*.qm"}))
        found << file.mid(9, file.size() - 12);
    return found;
}

void translate_pictures() {
    set_translation(picture_words);
}

bool speak(const QString& language) {
    const QString known = languages().contains(language) ? language : language.section('_', 0, 0);
    if (!languages().contains(known)) return false;
    auto* words = new WithoutNamespace(qApp);
    if (!words->load(QStringLiteral(":/translations/rematlas_%1.qm").arg(known))) return false;
    auto* of_qt = new QTranslator(qApp);
    if (of_qt->load(QStringLiteral("qtbase_%1").arg(known),
                    QLibraryInfo::location(QLibraryInfo::TranslationsPath)))
        QCoreApplication::installTranslator(of_qt);
    QCoreApplication::installTranslator(words);
    translate_pictures();
    return true;
}

}  // namespace rematlas::explorer
