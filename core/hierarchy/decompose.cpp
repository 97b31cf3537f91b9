#include "core/hierarchy/decompose.h"
namespace rematlas {
IdVector<BlockId, Block> decompose(const Graph& graph) { return graph.blocks; }
}
