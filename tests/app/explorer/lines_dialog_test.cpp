// Tests the dialog that appears after an export and shows lines that use the exported file.
#include "app/explorer/window/lines_dialog.h"

#include <QApplication>
#include <QClipboard>
#include <QFileDialog>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QStatusBar>
#include <QTest>
#include <QTimer>

#include "core/base/files.h"
#include "core/schedule/schedule_file.h"
#include "tests/app/explorer/window_fixture.h"

namespace rematlas::explorer {
namespace {

class LinesAfterExports : public Windows {
  protected:
    void SetUp() override {
        make_window();
        open(sample("gpt"));
        window->session().budget.set_text("85%");
        window->session().set_solve_settings({.solver = "selective", .time = std::chrono::seconds(5)});
        window->solve_panel().solve();
        ASSERT_TRUE(eventually([&] { return idle() && window->session().plans.rowCount() > 1; }));
    }
    QAction* item(const QString& text) {
        for (QAction* action : window->findChildren<QAction*>())
            if (action->text().remove('&').startsWith(text)) return action;
        return nullptr;
    }
    /// Triggers the menu item, and types the path into the file dialog that the item opens.
    void export_by(const QString& title, const QString& path) {
        QAction* action = item(title);
        ASSERT_NE(action, nullptr) << title.toStdString();
        ASSERT_TRUE(action->isEnabled()) << title.toStdString();
        QTimer::singleShot(0, window.get(), [&] {
            auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
            ASSERT_NE(dialog, nullptr);
            auto* name = dialog->findChild<QLineEdit*>("fileNameEdit");
            name->setText(path);
            QTest::keyClick(name, Qt::Key_Return);
        });
        action->trigger();
        ASSERT_TRUE(eventually([&] { return window->statusBar()->currentMessage() == "Saved " + path; }))
            << window->last_error().toStdString();
    }
    LinesDialog* dialog() { return window->findChild<LinesDialog*>(); }
    QString lines(const char* place) {
        auto* shown = dialog() ? dialog()->findChild<QPlainTextEdit*>(QString("lines_") + place) : nullptr;
        return shown ? shown->toPlainText() : QString();
    }
    /// Exports a file and expects that the dialog's lines contain `parts` and the path of the file.
    void expect(const QString& title, const QString& file, const char* place, const QStringList& parts) {
        if (dialog()) delete dialog();
        const QString path = folder.filePath(file);
        export_by(title, path);
        ASSERT_TRUE(eventually([&] { return dialog() != nullptr; })) << window->last_error().toStdString();
        for (const QString& part : parts + QStringList{path})
            EXPECT_TRUE(lines(place).contains(part)) << part.toStdString() << " in\n"
                                                     << lines(place).toStdString();
    }
};

TEST_F(LinesAfterExports, AreThoseOfTheFile) {
    expect("Plan for training", "x.plan", "program", {"import rematlas", "rematlas.apply(model, plan=\""});
    EXPECT_TRUE(lines("shell").startsWith("rematlas run gpt_scripted.pt ")) << lines("shell").toStdString();
    expect("Schedule (", "x.schedule.json", "shell", {"rematlas check ", "rematlas export ", "x.plan"});
    expect("Policy for checkpointing", "x.policy.json", "program",
           {"rematlas.checkpoint_policy(\"", "policy.wrap(model)"});
    EXPECT_TRUE(lines("forward").contains("context_fn=policy"));
    expect("Selectors for torchtitan", "x.txt", "shell",
           {"--compile.memory_policy full --compile.full_recompute_save_ops"});
    const std::string selectors = *read_file(folder.filePath("x.txt").toStdString());
    EXPECT_NE(selectors.find("blocks.*"), std::string::npos) << selectors;
}

TEST_F(LinesAfterExports, AreThoseOfTheCommandLine) {
    const QString path = folder.filePath("x.plan");
    expect("Plan for training", "x.plan", "program", {});
    const GraphPtr& graph = window->session().graph();
    const Schedule& schedule = window->session().schedule()->schedule;
    const std::vector<LinesToPaste> same = lines_to_paste({.form = ExportForm::plan,
                                                           .file = path.toStdString(),
                                                           .graph = &graph->graph,
                                                           .graph_file = graph->path.string(),
                                                           .schedule = &schedule});
    ASSERT_EQ(same.size(), 2u);
    EXPECT_EQ(lines("program").toStdString() + '\n', same[0].text);
    EXPECT_EQ(lines("shell").toStdString() + '\n', same[1].text);
}

TEST_F(LinesAfterExports, CanBeCopiedByTheKeyboard) {
    expect("Plan for training", "x.plan", "program", {});
    dialog()->activateWindow();
    QPushButton* copy = nullptr;
    for (auto* button : dialog()->findChildren<QPushButton*>())
        if (button->text() == "Copy" && !copy) copy = button;
    ASSERT_NE(copy, nullptr);
    EXPECT_FALSE(copy->accessibleName().isEmpty());
    EXPECT_NE(copy->focusPolicy() & Qt::TabFocus, 0);
    copy->setFocus();
    QTest::keyClick(copy, Qt::Key_Space);
    EXPECT_EQ(QApplication::clipboard()->text(), lines("program"));
    auto* shown = dialog()->findChild<QPlainTextEdit*>("lines_program");
    EXPECT_NE(shown->focusPolicy() & Qt::TabFocus, 0);
    EXPECT_TRUE(shown->textInteractionFlags() & Qt::TextSelectableByKeyboard);
    const QString to = qEnvironmentVariable("REMATLAS_KEEP_PICTURES");
    EXPECT_TRUE(to.isEmpty() || dialog()->grab().save(to + "/lines.png"));
}

TEST_F(LinesAfterExports, StayAwayWhereNobodyWantsThemAndAreThereWhenTheyAreAskedFor) {
    QAction* again = item("Lines to paste");
    EXPECT_FALSE(again->isEnabled()) << "nothing was exported yet";
    expect("Plan for training", "x.plan", "program", {});
    dialog()->findChild<QCheckBox*>("lines_always")->setChecked(false);
    delete dialog();
    export_by("Plan for training", folder.filePath("y.plan"));
    EXPECT_EQ(dialog(), nullptr);
    again->trigger();
    ASSERT_NE(dialog(), nullptr);
    EXPECT_TRUE(lines("program").contains("y.plan"));
}

}  // namespace
}  // namespace rematlas::explorer
