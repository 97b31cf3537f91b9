// Divides training steps into blocks, and compares the blocks with recorded ones: see recorded.h.
#include <gtest/gtest.h>

#include "core/base/files.h"
#include "core/hierarchy/decompose.h"
#include "core/hierarchy/training_tree.h"
#include "tests/core/support/graphs_of_each_kind.h"
#include "tests/core/support/recorded.h"

namespace rematlas {
namespace {

TEST(RecordedTrees, OfEachPartition) {
    Recorded recorded(__FILE__, "recorded_trees");
    for (const GraphOfAKind& of : graphs_of_each_kind())
        for (const Partition by :
             {Partition::articulation, Partition::bottom_up, Partition::modules, Partition::repeats})
            for (const bool other : {false, true}) {
                const TrainingTree tree = training_tree(
                    of.graph, of.flat, {.by = by, .most_items = other ? 6 : 25, .nest_sequences = other});
                std::vector<std::int64_t> numbers(tree.rank.begin(), tree.rank.end());
                for (const TrainingBlock& block : tree.blocks) {
                    numbers.insert(numbers.end(), {block.begin, block.end, block.parent});
                    numbers.insert(numbers.end(), block.children.begin(), block.children.end());
                    numbers.insert(numbers.end(), block.backward.begin(), block.backward.end());
                }
                recorded.expect(
                    of.name + " by " + std::string(to_string(by)) + (other ? ", 6 items, nested" : ""),
                    tree.blocks.size(), "blocks", digest(numbers));
            }
}

TEST(RecordedTrees, OfDecompose) {
    Recorded recorded(__FILE__, "recorded_blocks");
    for (const GraphOfAKind& of : graphs_of_each_kind()) {
        std::string names;
        std::vector<std::int64_t> numbers;
        const IdVector<BlockId, Block> blocks = decompose(of.graph);
        for (const Block& block : blocks) {
            names += block.name + "\n";
            numbers.insert(numbers.end(), {block.parent.value, block.twin.value, block.repeat_class});
            for (const OpId op : block.ops) numbers.push_back(op.value);
        }
        recorded.expect(of.name, blocks.size(), "blocks", sha256(names).substr(0, 8), digest(numbers));
    }
}

}  // namespace
}  // namespace rematlas
