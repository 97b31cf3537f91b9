// rematlas-explorer [FILE ...] [--screenshot out.png [--dock NAME]]
#include <QApplication>
#include <QCommandLineParser>
#include <QLocale>
#include <QSettings>
#include <QTextStream>
#include <cstdlib>
#include <string_view>

#include "app/explorer/docks/all_docks.h"
#include "app/explorer/look/theme.h"
#include "app/explorer/window/main_window.h"
#include "app/explorer/window/screenshot.h"
#include "app/explorer/words/language.h"
#include "core/base/limits_of_the_process.h"

namespace {

bool asks_for_screenshot(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        if (std::string_view(argv[i]).starts_with("--screenshot")) return true;
    }
    return false;
}

/// Says whether there is no display. Qt would abort then, so the program draws pictures off-screen and
/// refuses to open windows.
bool without_display() {
    return qEnvironmentVariableIsEmpty("DISPLAY") && qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY") &&
           qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM");
}

/// Leaves out two of Qt's messages, which Qt prints if there is no desktop session. They would be mixed with
/// the command's own output.
void drop_remarks(QtMsgType type, const QMessageLogContext&, const QString& message) {
    if (message.startsWith("QStandardPaths: XDG_RUNTIME_DIR") || message.contains("propagateSizeHints"))
        return;
    QTextStream(stderr) << message << '\n';
    if (type == QtFatalMsg) std::abort();
}

[[gnu::constructor(101)]] void begin() {
    rematlas::end_with_a_line_at_limits();
    rematlas::share_free_memory_between_threads();
}

}  // namespace

int main(int argc, char** argv) {
    qInstallMessageHandler(drop_remarks);
    const bool no_display = without_display();
    if (no_display || (asks_for_screenshot(argc, argv) && qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM"))) {
        qputenv("QT_QPA_PLATFORM", "offscreen");
    }
    QCoreApplication::setAttribute(Qt::AA_EnableHighDpiScaling);
    QCoreApplication::setAttribute(Qt::AA_UseHighDpiPixmaps);
    QApplication app(argc, argv);
    QCoreApplication::setOrganizationName("rematlas");
    QCoreApplication::setApplicationName("rematlas-explorer");
    QCoreApplication::setApplicationVersion(REMATLAS_VERSION);
    rematlas::explorer::theme::apply(app, rematlas::explorer::theme::Choice::system);

    QCommandLineParser parser;
    parser.setApplicationDescription(
        "Shows training graphs and plans their memory.\n\n"
        "Example: rematlas-explorer resnet50.graph.json\n"
        "         rematlas-explorer nets.py:step\n"
        "         rematlas-explorer ssh://host/models/nets.py:step\n"
        "         rematlas-explorer resnet50.schedule.json --screenshot window.png");
    parser.addHelpOption();
    parser.addVersionOption();
    parser.addPositionalArgument(
        "files",
        "A model (.pt, .pt2, .py, FILE.py:FUNCTION, package.module:FUNCTION), .graph.json, .schedule.json, "
        ".sweep.json, .plan files, memory snapshots and profiles by torch, or what apply(watch=...) writes",
        "[FILE ...]");
    const QCommandLineOption screenshot("screenshot", "Load, draw, write the picture and exit", "out.png");
    QStringList parts;
    for (const rematlas::explorer::DockEntry& entry : rematlas::explorer::all_docks()) parts << entry.id;
    const QCommandLineOption dock(
        "dock",
        QStringLiteral("With --screenshot: this part of the window only (%1, graph)").arg(parts.join(", ")),
        "name");
    const QCommandLineOption size("size", "With --screenshot: size of the window, 1600x1000 when not given",
                                  "WxH");
    const QCommandLineOption theme("theme", "With --screenshot: light or dark, light when not given", "name",
                                   "light");
    const QCommandLineOption language("lang", "Language of the window (en, de), the system's when not given",
                                      "name");
    parser.addOptions({screenshot, dock, size, theme, language});
    parser.process(app);
    const QString asked = parser.value(language);
    const bool spoken = rematlas::explorer::speak(asked.isEmpty() ? QLocale::system().name() : asked);
    if (!asked.isEmpty() && asked != "en" && !spoken) {
        QTextStream(stderr) << "--lang: there are en, " << rematlas::explorer::languages().join(", ")
                            << ", not '" << asked << "'\n";
        return 2;
    }

    if (parser.isSet(screenshot)) {
        return rematlas::explorer::take_screenshot({.files = parser.positionalArguments(),
                                                    .picture = parser.value(screenshot),
                                                    .dock = parser.value(dock),
                                                    .size = parser.value(size),
                                                    .theme = parser.value(theme)});
    }
    if (parser.isSet(dock) || parser.isSet(size) || parser.isSet(theme)) {
        QTextStream(stderr) << "--dock, --size and --theme go with --screenshot\n";
        return 2;
    }
    if (no_display) {
        QTextStream(stderr) << "there is no display for a window; --screenshot out.png needs none\n";
        return 2;
    }
    QSettings settings;
    rematlas::explorer::MainWindow window(&settings);
    window.show();
    window.open(parser.positionalArguments());
    return QApplication::exec();
}
