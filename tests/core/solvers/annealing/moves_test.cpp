// Tests which run sequences a single move of the search can reach.
#include "core/solvers/annealing/moves.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace rematlas::annealing {
namespace {

/// Returns a graph in which op i makes tensor i and reads the tensors of the ops in `reads[i]`. The last op
/// makes the result.
Graph graph_of(const std::vector<std::vector<int>>& reads) {
    Graph graph;
    for (const std::vector<int>& inputs : reads) {
        Op op;
        op.time = Nanoseconds(1);
        for (const int input : inputs) op.inputs.emplace_back(input);
        op.outputs = {graph.tensors.push_back({std::to_string(graph.ops.size()), Bytes(1)})};
        graph.ops.push_back(op);
        graph.results = op.outputs;
    }
    return graph;
}

std::set<RunSequence> one_move_from(const FlatGraph& flat, const RunSequence& runs, std::int64_t budget) {
    RunProfile profile(flat, budget, runs);
    Random random(1);
    Moves moves(flat, profile, random);
    std::set<RunSequence> reached;
    for (int draw = 0; draw < 20'000; ++draw) {
        if (moves.propose()) reached.insert(profile.sequence());
        profile.undo();
    }
    return reached;
}

TEST(Moves, ARunTakesAlongTheMakersOfWhatItReadsOrTheUsersOfWhatItMakes) {
    // Op 1 reads op 0, and op 2 reads op 1. Ops 3 and 4 read nothing. The last op reads 2, 3 and 4.
    const Graph graph = graph_of({{}, {0}, {1}, {}, {}, {2, 3, 4}});
    const FlatGraph flat = flatten(graph);
    for (const std::int64_t budget : {1, 100}) {
        const std::set<RunSequence> makers = one_move_from(flat, {0, 1, 2, 3, 4, 5}, budget);
        EXPECT_TRUE(makers.contains({0, 1, 3, 4, 2, 5})) << "alone";
        EXPECT_TRUE(makers.contains({0, 3, 4, 1, 2, 5})) << "with its maker";
        EXPECT_TRUE(makers.contains({3, 4, 0, 1, 2, 5})) << "and the maker's maker";
        const std::set<RunSequence> users = one_move_from(flat, {3, 4, 0, 1, 2, 5}, budget);
        EXPECT_TRUE(users.contains({0, 3, 4, 1, 2, 5})) << "alone";
        EXPECT_TRUE(users.contains({0, 1, 3, 4, 2, 5})) << "with its user";
        EXPECT_TRUE(users.contains({0, 1, 2, 3, 4, 5})) << "and the user's user";
    }
}

}  // namespace
}  // namespace rematlas::annealing
