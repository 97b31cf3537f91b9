// Tests the file dialog of the menu item Open when it is used by keys only.
#include <QApplication>
#include <QDir>
#include <QFileDialog>
#include <QFileSystemModel>
#include <QLineEdit>
#include <QListView>
#include <QTest>
#include <QTimer>

#include "tests/app/explorer/window_fixture.h"

namespace rematlas::explorer {
namespace {

class OpenByKeys : public Windows {
  protected:
    void SetUp() override {
        qputenv("HOME", folder.path().toUtf8());
        make_window();
        window->activateWindow();
    }
    void TearDown() override { qputenv("HOME", home); }
    /// Types a path into the dialog, and then presses Enter. `selected`: a folder that is selected in the
    /// dialog's list before Enter is pressed.
    void type(const QString& path, const QString& selected = {}) {
        QTimer::singleShot(0, window.get(), [path, selected] {
            QPointer<QFileDialog> dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
            ASSERT_NE(dialog, nullptr);
            auto* name = dialog->findChild<QLineEdit*>("fileNameEdit");
            ASSERT_NE(name, nullptr);
            for (const QChar key : path) {
                QTest::keyClick(name, key.toLatin1());
                QTest::qWait(1);  // gives Qt time to look up the typed text and to show completions
            }
            if (!selected.isEmpty()) select(*dialog, selected);
            QTest::keyClick(name, Qt::Key_Return);
            if (dialog && dialog->isVisible()) dialog->reject();
        });
        child<QAction>("open")->trigger();
    }
    static void select(QFileDialog& dialog, const QString& folder) {
        auto* list = dialog.findChild<QListView*>("listView");
        const auto* files = qobject_cast<QFileSystemModel*>(list->model());
        ASSERT_NE(files, nullptr);
        ASSERT_TRUE(files->index(folder).isValid());
        list->selectionModel()->select(files->index(folder),
                                       QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
    }
    const QByteArray home = qgetenv("HOME");
};

TEST_F(OpenByKeys, AnAbsolutePathUnderTheHomeFolderIsOpened) {
    QDir(folder.path()).mkpath("models/gpt");
    const QString graph = write_chain(folder, 4, "models/gpt/chain");
    for (const QString& shown : {folder.path(), folder.filePath("models"), QString("/")}) {
        settings->setValue("recent", QStringList{shown + "/x"});
        make_window();
        type(graph);
        EXPECT_TRUE(eventually([&] { return window->session().graph() != nullptr; }))
            << "from " << shown.toStdString();
        ASSERT_TRUE(eventually([&] { return idle(); }));
    }
}

/// While a path is typed, Qt selects the folders of this path in the list, one after the other. If the text
/// field loses the focus too early, one of these folders stays selected.
TEST_F(OpenByKeys, AFolderOnTheWayThatStaysSelectedDoesNotTakeThePlaceOfThePath) {
    QDir(folder.path()).mkpath("models");
    const QString graph = write_chain(folder, 4, "models/chain");
    settings->setValue("recent", QStringList{folder.filePath("x")});
    make_window();
    type(graph, folder.filePath("models"));
    EXPECT_TRUE(eventually([&] { return window->session().graph() != nullptr; }));
}

TEST_F(OpenByKeys, APathFromTheHomeFolderIsOpened) {
    write_chain(folder, 4, "chain");
    type("~/chain.graph.json");
    EXPECT_TRUE(eventually([&] { return window->session().graph() != nullptr; }));
}

TEST_F(OpenByKeys, AFolderIsGoneInto) {
    QDir(folder.path()).mkpath("models");
    type(folder.filePath("models"));
    EXPECT_EQ(window->session().graph(), nullptr);
    EXPECT_TRUE(window->last_error().isEmpty());
}

}  // namespace
}  // namespace rematlas::explorer
