// A test fixture with a window that has a separate folder and separate settings.
#pragma once

#include <gtest/gtest.h>

#include <QFile>
#include <QSettings>
#include <QTemporaryDir>
#include <memory>

#include "app/explorer/window/main_window.h"
#include "tests/app/explorer/training_chain.h"

namespace rematlas::explorer {

class Windows : public testing::Test {
  protected:
    void SetUp() override { make_window(); }
    void make_window() {
        settings = std::make_unique<QSettings>(folder.filePath("settings.ini"), QSettings::IniFormat);
        window = std::make_unique<MainWindow>(settings.get());
        window->resize(1400, 1000);
        window->show();
    }
    void open(const QString& path) {
        window->open({path});
        ASSERT_TRUE(eventually([&] { return idle(); }));
    }
    /// Copies a sample graph into the test's folder and returns the path of the copy. The graph is copied
    /// because plans are stored next to it.
    QString sample(const QString& name) {
        const QString file = folder.filePath(name + ".graph.json");
        EXPECT_TRUE(QFile::copy(REMATLAS_SOURCE_DIR "/resources/graphs/" + name + ".graph.json", file));
        return file;
    }
    bool idle() const { return !window->session().busy() && !window->session().probe.running(); }
    template <class Widget>
    Widget* child(const char* name) {
        return window->findChild<Widget*>(name);
    }

    QTemporaryDir folder;
    std::unique_ptr<QSettings> settings;
    std::unique_ptr<MainWindow> window;
};

}  // namespace rematlas::explorer
