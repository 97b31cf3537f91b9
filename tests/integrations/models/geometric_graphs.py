"""Networks of PyTorch Geometric on fixed graphs. The features of the nodes differ from step to step."""

import torch
import torch_geometric.nn as geometric
from torch import nn
from torch.nn.functional import cross_entropy, dropout, relu

from case import Batch, Case, entry
from inputs import classes, generator, normal

NODES, FEATURES = 200, 16


def edges() -> torch.Tensor:
    """Returns the edges of a ring with random chords, in both directions."""
    ring = torch.stack([torch.arange(NODES), (torch.arange(NODES) + 1) % NODES])
    chords = torch.randint(NODES, (2, 3 * NODES), generator=generator(0))
    one_way = torch.cat([ring, chords], dim=1)
    return torch.cat([one_way, one_way.flip(0)], dim=1)


EDGES = edges()


def node_class(step: int) -> Batch:
    return Batch(args=(normal(step, NODES, FEATURES), EDGES), target=classes(step, NODES, 7))


SMALL = dict(in_channels=FEATURES, hidden_channels=32, num_layers=3, out_channels=7, dropout=0.5)


@entry("gcn", expected="either", reason="its weights leave little to save")
def gcn():
    return Case(geometric.GCN(**SMALL), node_class, cross_entropy)


@entry("gcn_cached", expected="either", reason="its weights leave little to save")
def gcn_cached():
    """A GCN that normalizes the graph in its first forward and caches the result for later forwards."""
    return Case(geometric.GCN(**SMALL, cached=True), node_class, cross_entropy)


@entry("gat")
def gat():
    return Case(geometric.GAT(**SMALL, heads=4), node_class, cross_entropy)


@entry("graphsage")
def graphsage():
    return Case(geometric.GraphSAGE(**SMALL, jk="cat"), node_class, cross_entropy)


class GraphClassifier(nn.Module):
    """A classifier that sums the features of each graph of a batch, as in the library's examples."""

    def __init__(self):
        super().__init__()
        self.nodes = geometric.GIN(FEATURES, 32, num_layers=2, norm="batch_norm")
        self.first, self.last = nn.Linear(32, 32), nn.Linear(32, 5)

    def forward(self, x, edge_index, batch):
        x = geometric.global_add_pool(self.nodes(x, edge_index), batch)
        return self.last(dropout(relu(self.first(x)), 0.5, self.training))


@entry("gin")
def gin():
    """Classification of graphs. The model reads the number of graphs from the batch's indices."""
    graph_of_node = torch.arange(NODES) // 20

    def batch(step):
        within = EDGES[:, graph_of_node[EDGES[0]] == graph_of_node[EDGES[1]]]
        return Batch(
            args=(normal(step, NODES, FEATURES), within, graph_of_node), target=classes(step, NODES // 20, 5)
        )

    return Case(GraphClassifier(), batch, cross_entropy)


class EdgeTransformer(nn.Module):
    """A network with attention along edges that have features, with gates and norms."""

    def __init__(self):
        super().__init__()
        self.first = geometric.TransformerConv(FEATURES, 16, heads=2, edge_dim=8, dropout=0.1, beta=True)
        self.norm = geometric.LayerNorm(32)
        self.last = geometric.TransformerConv(32, 7, heads=2, edge_dim=8, concat=False)

    def forward(self, x, edge_index, edge_attr):
        return self.last(relu(self.norm(self.first(x, edge_index, edge_attr))), edge_index, edge_attr)


@entry("graph_transformer")
def graph_transformer():
    def batch(step):
        return Batch(
            args=(normal(step, NODES, FEATURES), EDGES),
            kwargs={"edge_attr": normal(step + 60, EDGES.shape[1], 8)},
            target=classes(step, NODES, 7),
        )

    return Case(EdgeTransformer(), batch, cross_entropy)
