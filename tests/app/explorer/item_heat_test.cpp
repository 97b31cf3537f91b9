// Tests the amounts that the colours of the graph show. The amounts of all items must add up to the amount of
// the whole step.
#include "app/explorer/models/item_heat.h"

#include <gtest/gtest.h>

#include <QComboBox>
#include <algorithm>

#include "app/explorer/graph/graph_legend.h"
#include "app/explorer/models/block_sums.h"
#include "app/explorer/words/wording.h"
#include "tests/app/explorer/window_fixture.h"

namespace rematlas::explorer {
namespace {

class ItemColours : public Windows {
  protected:
    void SetUp() override {
        Windows::SetUp();
        open(sample("gpt"));
        ASSERT_TRUE(eventually([&] { return session().schedule() && session().ladder.ladder() && idle(); }));
    }
    Session& session() { return window->session(); }
    ItemHeat heat(ItemColors colors) {
        return item_heat(*session().ladder.ladder(), *session().schedule(), colors);
    }
};

TEST_F(ItemColours, OfBytesAreSharesOfTheFullestItem) {
    const ItemHeat found = heat(ItemColors::bytes_at_peak);
    const Ladder& ladder = *session().ladder.ladder();
    ASSERT_EQ(found.shares.size(), ladder.view.items.size());
    EXPECT_DOUBLE_EQ(*std::max_element(found.shares.begin(), found.shares.end()), 1);
    EXPECT_GE(*std::min_element(found.shares.begin(), found.shares.end()), 0);
    const BlockSums sums = block_sums(*session().schedule());
    std::vector<double> bytes(found.shares.size(), 0);
    for (const OpId op : session().graph()->graph.ops.ids())
        bytes[static_cast<std::size_t>(ladder.item_of[op])] +=
            static_cast<double>(sums.ops[op].at_peak.value);
    const double most = *std::max_element(bytes.begin(), bytes.end());
    for (std::size_t i = 0; i < bytes.size(); ++i) EXPECT_NEAR(found.shares[i], bytes[i] / most, 1e-12);
    EXPECT_EQ(found.most, bytes_text(Bytes(static_cast<std::int64_t>(most))));
}

TEST_F(ItemColours, OfTimeCountEachRun) {
    const ItemHeat found = heat(ItemColors::time);
    const Ladder& ladder = *session().ladder.ladder();
    std::vector<double> time(found.shares.size(), 0);
    for (const Step& step : session().schedule()->schedule.steps)
        if (step.runs())
            time[static_cast<std::size_t>(ladder.item_of[step.op()])] +=
                static_cast<double>(session().graph()->graph.ops[step.op()].time.value);
    const double most = *std::max_element(time.begin(), time.end());
    for (std::size_t i = 0; i < time.size(); ++i) EXPECT_NEAR(found.shares[i], time[i] / most, 1e-12);
}

TEST_F(ItemColours, OfCostAreForwardItemsAlone) {
    const ItemHeat found = heat(ItemColors::cost_to_rerun);
    const BlockView& view = session().ladder.ladder()->view;
    double least = 1, most = 0;
    for (std::size_t i = 0; i < found.shares.size(); ++i) {
        const bool is_of_backward = view.items[i].phase == Phase::backward;
        EXPECT_TRUE(!is_of_backward || found.shares[i] < 0);
        if (found.shares[i] < 0) continue;
        least = std::min(least, found.shares[i]);
        most = std::max(most, found.shares[i]);
    }
    EXPECT_DOUBLE_EQ(least, 0);
    EXPECT_DOUBLE_EQ(most, 1);
    EXPECT_TRUE(found.most.endsWith("/MiB"));
}

TEST_F(ItemColours, AreChosenInTheToolBarWithTheirLegend) {
    QComboBox* colours = nullptr;
    for (QComboBox* box : window->findChildren<QComboBox*>())
        if (box->accessibleName() == "Colour by") colours = box;
    ASSERT_NE(colours, nullptr);
    ASSERT_EQ(colours->count(), 5);
    const GraphLayer& layer = window->graph_view().layer();
    const QImage before = window->graph_view().viewport()->grab().toImage();
    for (const ItemColors colors : {ItemColors::bytes_at_peak, ItemColors::time, ItemColors::cost_to_rerun}) {
        colours->setCurrentIndex(static_cast<int>(colors));
        EXPECT_EQ(layer.coloring(), Coloring::heat);
        EXPECT_NE(window->graph_view().viewport()->grab().toImage(), before);
        const std::vector<LegendEntry> legend = legend_of(layer, heat(colors));
        ASSERT_EQ(legend.size(), 3u);
        EXPECT_EQ(legend.back().name, heat(colors).most);
    }
    session().plans.show(PlanList::none);
    ASSERT_TRUE(eventually([&] { return session().schedule() == nullptr; }));
    EXPECT_EQ(layer.coloring(), Coloring::heat)
        << "without a plan the figures are those of the step as it is";
    session().plans.show(0);
    ASSERT_TRUE(eventually([&] { return session().schedule() != nullptr; }));
    colours->setCurrentIndex(0);
    EXPECT_EQ(window->graph_view().viewport()->grab().toImage(), before);
}

}  // namespace
}  // namespace rematlas::explorer
