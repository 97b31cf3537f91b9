// Makes a picture of the window without a user at the screen, for documents, tests and `--screenshot`.
#pragma once

#include <QString>
#include <QStringList>

namespace rematlas::explorer {

struct ScreenshotRequest {
    QStringList files;
    QString picture;  ///< path of the .png file
    QString dock;     ///< empty for the whole window; `graph` for the middle; else the name of a dock
    QString size;     ///< size of the window in pixels, for example "1200x800"; empty for "1600x1000"
    QString theme = QStringLiteral("light");  ///< or "dark"
};

/// Loads the files, waits until everything is laid out, draws and writes the picture. Uses no saved settings
/// and does not solve. Returns the exit status: 0, or 2 with one line on standard error.
int take_screenshot(const ScreenshotRequest& request);

}  // namespace rematlas::explorer
