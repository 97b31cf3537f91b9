#include "app/explorer/window/view_picture.h"

#include <gtest/gtest.h>

#include <QImage>
#include <cstdlib>

#include "app/explorer/graph/graph_minimap.h"
#include "core/base/files.h"
#include "tests/app/explorer/training_chain.h"
#include "tests/support/full_disk.h"

namespace rematlas::explorer {
namespace {

class ViewPictures : public testing::Test {
  protected:
    void SetUp() override {
        view.resize(500, 400);
        view.show();
        session.set_keeps_plans(false);
        session.open({write_chain(folder, 5)});
        ASSERT_TRUE(eventually([&] { return !session.opening() && !session.ladder.running(); }));
    }
    std::filesystem::path path(const char* name) const { return folder.filePath(name).toStdString(); }

    QTemporaryDir folder;
    Session session;
    GraphView view{session};
};

TEST_F(ViewPictures, AreOfTheFormatThatTheEndingSays) {
    for (const auto& [name, beginning] :
         {std::pair{"a.svg", "<?xml"}, std::pair{"a.PDF", "%PDF"}, std::pair{"a.png", "\x89PNG"}}) {
        ASSERT_TRUE(write_view_picture(view, path(name))) << name;
        EXPECT_TRUE(read_file(path(name))->starts_with(beginning)) << name;
    }
    EXPECT_EQ(QImage(folder.filePath("a.png")).size(), view.viewport()->size() * 2);
    EXPECT_FALSE(write_view_picture(view, path("a.jpg")));
}

/// Writes to a full disk. Afterwards an old file must still have its content, and there must be no new file.
TEST_F(ViewPictures, ThatCannotBeWrittenWholeLeaveWhatWasThere) {
    ASSERT_TRUE(write_file(path("old.svg"), "old"));
    std::vector<std::string> refused;
    {
        const FullDisk full(1000);
        for (const char* name : {"old.svg", "new.svg", "new.pdf", "new.png"})
            if (!write_view_picture(view, path(name))) refused.push_back(name);
    }
    EXPECT_EQ(refused.size(), 4u);
    EXPECT_EQ(*read_file(path("old.svg")), "old");
    EXPECT_FALSE(std::filesystem::exists(path("new.svg")));
    EXPECT_FALSE(std::filesystem::exists(path("new.png")));
}

/// The legend must have the same place and size as in the view, whatever the resolution of the picture.
TEST_F(ViewPictures, HaveTheLegendWhereTheViewHasIt) {
    ASSERT_TRUE(eventually([&] { return session.schedule() != nullptr; }));
    ASSERT_TRUE(write_view_picture(view, path("a.png")));
    const QImage shown = view.viewport()->grab().toImage().convertToFormat(QImage::Format_RGB32);
    const QImage picture = QImage(folder.filePath("a.png"))
                               .scaled(shown.size(), Qt::IgnoreAspectRatio, Qt::SmoothTransformation)
                               .convertToFormat(QImage::Format_RGB32);
    const QRect corner(8, shown.height() - 40, 300, 34);
    int dots = 0, far = 0;
    for (int y = corner.top(); y <= corner.bottom(); ++y)
        for (int x = corner.left(); x <= corner.right(); ++x) {
            const QColor a = shown.pixelColor(x, y), b = picture.pixelColor(x, y);
            dots += a.saturation() > 120;
            far += std::abs(a.red() - b.red()) + std::abs(a.green() - b.green()) +
                       std::abs(a.blue() - b.blue()) >
                   200;
        }
    EXPECT_GT(dots, 100) << "the dots of the legend";
    EXPECT_LT(far, 60);
}

TEST_F(ViewPictures, TheMinimapHasTheColoursOfTheSchedule) {
    ASSERT_TRUE(eventually([&] { return session.schedule() != nullptr; }));
    auto* minimap = view.findChild<GraphMinimap*>();
    ASSERT_NE(minimap, nullptr);
    const QImage with = minimap->grab().toImage();
    session.plans.show(PlanList::none);
    ASSERT_TRUE(eventually([&] { return session.schedule() == nullptr; }));
    EXPECT_NE(minimap->grab().toImage(), with) << "phases, where there are no decisions";
    session.plans.show(0);
    ASSERT_TRUE(eventually([&] { return session.schedule() != nullptr; }));
    EXPECT_EQ(minimap->grab().toImage(), with);
}

}  // namespace
}  // namespace rematlas::explorer
