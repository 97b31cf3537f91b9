#include "app/explorer/files/chosen_files.h"

#include <gtest/gtest.h>

#include <QDir>

#include "core/base/files.h"
#include "tests/app/explorer/training_chain.h"

namespace rematlas::explorer {
namespace {

class FilesToOpen : public testing::Test {
  protected:
    QString file(const QString& name, const std::string& content = "{}") const {
        EXPECT_TRUE(write_file(folder.filePath(name).toStdString(), content));
        return folder.filePath(name);
    }
    QTemporaryDir folder;
};

TEST_F(FilesToOpen, TheGraphComesBeforeWhatBelongsToIt) {
    const QString sweep = file("a.sweep.json"), schedule = file("a.schedule.json"),
                  graph = file("a.graph.json");
    EXPECT_EQ(choose_files({sweep, schedule, graph}).files, (QStringList{graph, schedule, sweep}));
}

TEST_F(FilesToOpen, AFolderStandsForWhatIsInIt) {
    const QString graph = file("a.graph.json"), schedule = file("a.schedule.json");
    file("notes.txt");
    file("settings.json");
    const ChosenFiles chosen = choose_files({folder.path()});
    EXPECT_EQ(chosen.files, (QStringList{graph, schedule}));
    EXPECT_TRUE(chosen.left_out.isEmpty());
    QDir(folder.path()).mkdir("empty");
    EXPECT_EQ(choose_files({folder.filePath("empty")}).left_out.size(), 1);
}

TEST_F(FilesToOpen, OfSeveralGraphsAndModelsTheFirstIsTakenAndTheOthersAreNamed) {
    const ChosenFiles chosen =
        choose_files({file("a.graph.json"), file("b.graph.json"), file("a.pt"), file("b.pt")});
    EXPECT_EQ(chosen.files, QStringList{folder.filePath("a.graph.json")});
    EXPECT_EQ(chosen.model, folder.filePath("a.pt"));
    ASSERT_EQ(chosen.left_out.size(), 2);
    EXPECT_TRUE(chosen.left_out[0].startsWith(folder.filePath("b.graph.json")));
    EXPECT_TRUE(chosen.left_out[1].startsWith(folder.filePath("b.pt")));
}

TEST_F(FilesToOpen, ModelsOfOtherKindsAreModelsToo) {
    EXPECT_EQ(choose_files({file("m.onnx", "\x08\x07")}).model, folder.filePath("m.onnx"));
    EXPECT_EQ(choose_files({file("notes.txt", "no model")}).files, QStringList{folder.filePath("notes.txt")})
        << "reading it says what is wrong";
}

TEST_F(FilesToOpen, FunctionsOfPythonAreModelsByTheirFileOrByTheirModule) {
    const QString nets = file("nets.py", "def step():\n    pass\n");
    for (const QString& word : {nets, nets + ":step", QString("zoo.vision:resnet")}) {
        EXPECT_EQ(choose_files({word}).model, word);
        EXPECT_TRUE(choose_files({word}).files.isEmpty());
    }
}

TEST_F(FilesToOpen, MeasurementsStandApart) {
    const QString snapshot = file("snapshot.pickle", "\x80\x04}\x94(\x8c\x08segments"),
                  graph = file("a.graph.json");
    const ChosenFiles chosen = choose_files({snapshot, graph});
    EXPECT_EQ(chosen.measured, QStringList{snapshot});
    EXPECT_EQ(chosen.files, QStringList{graph});
    EXPECT_TRUE(chosen.model.isEmpty());
}

}  // namespace
}  // namespace rematlas::explorer
