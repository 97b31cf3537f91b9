// rematlas-explorer [FILE ...] [--screenshot out.png [--dock NAME]]
#include <QApplication>
#include <QCommandLineParser>
#include <QSettings>
#include <QTextStream>

#include "app/explorer/views/theme.h"
#include "app/explorer/window/main_window.h"
#include "app/explorer/window/screenshot.h"

int main(int argc, char** argv) {
    QCoreApplication::setAttribute(Qt::AA_EnableHighDpiScaling);
    QCoreApplication::setAttribute(Qt::AA_UseHighDpiPixmaps);
    QCoreApplication::setAttribute(Qt::AA_DontUseNativeDialogs, false);
    QApplication app(argc, argv);
    QCoreApplication::setOrganizationName("rematlas");
    QCoreApplication::setApplicationName("rematlas-explorer");
    QCoreApplication::setApplicationVersion(REMATLAS_VERSION);
    rematlas::explorer::theme::apply(app);

    QCommandLineParser parser;
    parser.setApplicationDescription(
        "Shows training graphs and plans their memory.\n\n"
        "Example: rematlas-explorer resnet50.graph.json\n"
        "         rematlas-explorer resnet50.schedule.json --screenshot window.png");
    parser.addHelpOption();
    parser.addVersionOption();
    parser.addPositionalArgument(
        "files", "A TorchScript model (.pt) or .graph.json, .schedule.json, .sweep.json, .plan files",
        "[FILE ...]");
    const QCommandLineOption screenshot("screenshot", "Load, draw, write the picture and exit", "out.png");
    const QCommandLineOption dock(
        "dock",
        "With --screenshot: this part of the window only (blocks, solve, details, schedule, tradeoff, graph)",
        "name");
    const QCommandLineOption size("size", "With --screenshot: size of the window, 1600x1000 when not given",
                                  "WxH");
    parser.addOptions({screenshot, dock, size});
    parser.process(app);

    if (parser.isSet(screenshot)) {
        return rematlas::explorer::take_screenshot({.files = parser.positionalArguments(),
                                                    .picture = parser.value(screenshot),
                                                    .dock = parser.value(dock),
                                                    .size = parser.value(size)});
    }
    if (parser.isSet(dock) || parser.isSet(size)) {
        QTextStream(stderr) << "--dock and --size go with --screenshot\n";
        return 2;
    }
    QSettings settings;
    rematlas::explorer::MainWindow window(&settings);
    window.show();
    window.open(parser.positionalArguments());
    return QApplication::exec();
}
