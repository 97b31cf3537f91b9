#include "app/explorer/window/screenshot.h"

#include <QApplication>
#include <QDockWidget>
#include <QElapsedTimer>
#include <QPixmap>
#include <QPointer>
#include <QRegularExpression>
#include <QTextStream>
#include <QThread>

#include "app/explorer/files/open_file.h"
#include "app/explorer/files/python_source.h"
#include "app/explorer/followed/followed_window.h"
#include "app/explorer/look/theme.h"
#include "app/explorer/measured/measured_window.h"
#include "app/explorer/window/main_window.h"

namespace rematlas::explorer {
namespace {

int refuse(const QString& message) {
    QTextStream(stderr) << message << '\n';
    return 2;
}

/// Runs the event loop until `done` returns true. Returns false if this takes more than two minutes.
template <class Condition>
bool wait_until(Condition done) {
    QElapsedTimer clock;
    clock.start();
    while (!done()) {
        QApplication::processEvents(QEventLoop::AllEvents, 50);
        QThread::msleep(5);
        if (clock.elapsed() > 120000) return false;
    }
    return true;
}

void settle() {
    for (int i = 0; i < 5; ++i) QApplication::processEvents(QEventLoop::AllEvents, 50);
}

}  // namespace

int take_screenshot(const ScreenshotRequest& request) {
    for (const QString& file : request.files) {
        if (file_kind(file.toStdString()) == FileKind::model || python_source(file)) {
            return refuse(file +
                          ": a picture of a model needs its graph: capture it first (rematlas capture)");
        }
    }
    if (request.theme != "light" && request.theme != "dark")
        return refuse("--theme: expected light or dark, not '" + request.theme + "'");
    theme::choose(request.theme == "dark" ? theme::Choice::dark : theme::Choice::light);
    QSize size(1600, 1000);
    if (!request.size.isEmpty()) {
        static const QRegularExpression form("^(\\d{2,4})x(\\d{2,4})$");
        const QRegularExpressionMatch match = form.match(request.size);
        if (!match.hasMatch()) return refuse("--size: expected WIDTHxHEIGHT such as 1600x1000");
        size = QSize(match.captured(1).toInt(), match.captured(2).toInt());
    }
    MainWindow window(nullptr);
    window.resize(size);
    if (!request.dock.isEmpty() && request.dock != "graph" && !window.dock(request.dock)) {
        return refuse("--dock: no dock '" + request.dock + "'; there are " + window.dock_names().join(", ") +
                      " and graph");
    }
    window.show();
    settle();
    window.open(request.files);
    Session& session = window.session();
    QPointer<MeasuredWindow> measured = window.findChild<MeasuredWindow*>();
    const bool ready = wait_until([&] {
        return (!measured || !measured->reading()) && !session.opening() && !session.ladder.running() &&
               !session.probe.running() && !session.compare.running();
    });
    if (!ready) return refuse("the files were not loaded and laid out within two minutes");
    if (!window.last_error().isEmpty()) return refuse(window.last_error());
    settle();
    QWidget* shown = &window;
    QWidget* other = measured;
    if (!other) other = window.findChild<FollowedWindow*>();
    if (other) {
        other->resize(size);
        settle();
        shown = other;
    }
    if (request.dock == "graph") {
        shown = window.centralWidget();
    } else if (!request.dock.isEmpty()) {
        shown = window.dock(request.dock);
    }
    if (!shown->grab().save(request.picture))
        return refuse(request.picture + ": the picture cannot be written");
    return 0;
}

}  // namespace rematlas::explorer
