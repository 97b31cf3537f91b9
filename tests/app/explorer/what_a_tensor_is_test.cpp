// Tests that all places of the explorer that name a tensor also show its shape and type, the class of its
// module, and its line in the model's source.
#include <gtest/gtest.h>

#include "app/explorer/docks/details_panel.h"
#include "app/explorer/graph/graph_tips.h"
#include "app/explorer/models/alive_model.h"
#include "app/explorer/models/steps_table.h"
#include "app/explorer/session/session.h"
#include "app/explorer/words/wording.h"
#include "core/graph/graph_file.h"
#include "tests/app/explorer/table_column.h"
#include "tests/app/explorer/training_chain.h"

namespace rematlas::explorer {
namespace {

constexpr OpId kConvolution(0);  // the convolution of the first layer

class WhatATensorIs : public testing::Test {
  protected:
    void SetUp() override {
        Graph graph = training_chain(3);
        graph.ops[kConvolution].source = "net.py:41";
        graph.module_classes["layers.0.conv"] = "Conv2d";
        for (Op& op : graph.ops)
            if (op.of == kConvolution) op.source = "net.py:41";
        graph.tensors[graph.ops[kConvolution].outputs.front()].layout =
            TensorLayout{"f32", {4, 64, 32, 32}, {65536, 1, 2048, 64}};
        QTemporaryDir folder;
        const QString path = folder.filePath("chain.graph.json");
        ASSERT_TRUE(write_graph(graph, path.toStdString()));
        session.open({path});
        ASSERT_TRUE(eventually([&] { return !session.opening() && session.schedule(); }));
    }
    const Graph& graph() const { return session.graph()->graph; }
    QString details_of(OpId op) const {
        return details_html(*session.graph(), session.schedule().get(), Selected::of(op));
    }

    Session session;
};

TEST_F(WhatATensorIs, DetailsTellShapeLineAndClass) {
    const QString convolution = details_of(kConvolution);
    EXPECT_TRUE(convolution.contains("f32[4,64,32,32] with strides (65536,1,2048,64)"));
    EXPECT_TRUE(convolution.contains("net.py:41"));
    EXPECT_TRUE(convolution.contains("layers.0.conv (Conv2d)"));
    EXPECT_TRUE(details_of(OpId(1)).contains("f32[4,64,32,32]"))
        << "an op that reads the tensor tells it, too";
    EXPECT_FALSE(details_of(OpId(2)).contains("net.py")) << "what the graph does not say is left out";
    for (OpId op : graph().ops.ids()) {
        if (graph().ops[op].of != kConvolution) continue;
        EXPECT_TRUE(details_of(op).contains("Backward of the line"));
    }
}

TEST_F(WhatATensorIs, TipsOfTheGraphTellThem) {
    BlockViewItem convolution, block, other;
    convolution.op = kConvolution;
    block.block = BlockId(0);
    convolution.path = block.path = "layers.0.conv";
    other.op = OpId(2);
    const QString tip = item_tip(graph(), convolution);
    EXPECT_TRUE(tip.contains("f32[4,64,32,32]"));
    EXPECT_TRUE(tip.contains("net.py:41"));
    EXPECT_TRUE(item_tip(graph(), block).contains("Conv2d"));
    EXPECT_FALSE(item_tip(graph(), other).contains("["));
}

TEST_F(WhatATensorIs, TablesHaveTheColumns) {
    AliveModel alive;
    alive.set_schedule(session.schedule());
    alive.set_step(1);
    bool is_told = false;
    for (int row = 0; row < alive.rowCount(); ++row) {
        if (alive.op_at(row) != kConvolution) continue;
        is_told = true;
        EXPECT_TRUE(alive.index(row, AliveModel::shape).data().toString().startsWith("f32[4,64,32,32]"));
        EXPECT_EQ(alive.index(row, AliveModel::source).data().toString(), "net.py:41");
    }
    EXPECT_TRUE(is_told);
    StepsTable steps;
    steps.set_schedule(session.schedule());
    EXPECT_EQ(cell_of(steps, 0, "Line").data().toString(), "net.py:41");
}

}  // namespace
}  // namespace rematlas::explorer
