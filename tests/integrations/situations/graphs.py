"""Programs that train networks of PyTorch Geometric."""

import torch
from torch.nn.functional import cross_entropy
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GAT, GIN, global_add_pool

from inputs import classes, generator, normal
from situation import Situation, situation
from situations.networks import adamw, minimize


def edges(number: int, nodes: int, count: int) -> torch.Tensor:
    return torch.randint(nodes, (2, count), generator=generator(number))


@situation("one_graph_with_a_mask")
def one_graph_with_a_mask():
    """The example of PyTorch Geometric's introduction: attention over one graph, loss over training nodes."""
    model = GAT(32, 16, num_layers=2, out_channels=5, heads=4, dropout=0.3)
    optimizer = adamw(model)
    x, links, target = normal(0, 300, 32), edges(0, 300, 1500), classes(0, 300, 5)
    chosen = torch.arange(300) % 3 == 0

    def step(number):
        return minimize(optimizer, lambda: cross_entropy(model(x, links)[chosen], target[chosen]))

    return Situation(model, step, [optimizer], in_bytes=0.9)


@situation("batches_of_small_graphs", "either", "batches have other numbers of nodes and edges each time")
def batches_of_small_graphs():
    """Batches of graphs of random sizes. Each graph is pooled by a sum."""

    class Pooled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers, self.head = GIN(16, 32, num_layers=3), torch.nn.Linear(32, 2)

        def forward(self, x, links, batch, count):
            return self.head(global_add_pool(self.layers(x, links), batch, count))

    model = Pooled()
    optimizer = adamw(model)

    def step(number):
        sizes = torch.randint(5, 20, (16,), generator=generator(number)).tolist()
        graphs = [
            Data(x=normal(number * 100 + i, n, 16), edge_index=edges(i, n, 2 * n))
            for i, n in enumerate(sizes)
        ]
        batch = Batch.from_data_list(graphs)
        return minimize(
            optimizer,
            lambda: cross_entropy(model(batch.x, batch.edge_index, batch.batch, 16), classes(number, 16, 2)),
        )

    return Situation(model, step, [optimizer], steps=14, in_bytes=0.9)
