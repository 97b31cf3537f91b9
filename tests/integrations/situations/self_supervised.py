"""Training without labels: pairs of views, momentum encoders, masked images."""

import copy

import torch
from torch import nn
from torch.nn.functional import cosine_similarity, cross_entropy, log_softmax, normalize, softmax

from inputs import normal
from situation import Situation, situation
from situations.networks import adamw, convolutions, minimize, perceptron, resnet


def views(number: int, batch: int = 16) -> tuple[torch.Tensor, torch.Tensor]:
    x = normal(number, batch, 3, 32, 32)
    return x + 0.1 * normal(number + 50, *x.shape), x.flip(3)


@situation("simclr")
def simclr():
    """SimCLR: both views are in one batch, and the loss compares all pairs."""
    model = nn.Sequential(resnet(64), nn.ReLU(), nn.Linear(64, 32))
    optimizer = adamw(model)

    def step(number):
        def loss():
            z = normalize(model(torch.cat(views(number))), dim=1)
            alike = (z @ z.T / 0.5).fill_diagonal_(-1e9)
            return cross_entropy(alike, torch.arange(len(z)).roll(len(z) // 2))

        return minimize(optimizer, loss)

    return Situation(model, step, [optimizer], in_bytes=0.85)


class MomentumContrast(nn.Module):
    """MoCo as in its repository: a second encoder, which is updated through `.data`, makes the keys, and a
    buffer holds the queue."""

    def __init__(self):
        super().__init__()
        self.q = convolutions(outputs=32)
        self.k = copy.deepcopy(self.q).requires_grad_(False)
        self.register_buffer("queue", normalize(normal(0, 32, 128), dim=0))
        self.register_buffer("place", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def keys(self, x):
        for q, k in zip(self.q.parameters(), self.k.parameters()):
            k.data = k.data * 0.99 + q.data * 0.01
        return normalize(self.k(x), dim=1)

    @torch.no_grad()
    def keep(self, keys):
        place = int(self.place)
        self.queue[:, place : place + len(keys)] = keys.T
        self.place[0] = (place + len(keys)) % self.queue.shape[1]

    def forward(self, one, other):
        q, k = normalize(self.q(one), dim=1), self.keys(other)
        alike = torch.cat([(q * k).sum(1, keepdim=True), q @ self.queue.clone().detach()], 1)
        self.keep(k)
        return alike / 0.07, torch.zeros(len(q), dtype=torch.long)


@situation("moco", "refused", "key weights are given other memory by .data in each forward")
def moco():
    model = MomentumContrast()
    optimizer = torch.optim.SGD(model.q.parameters(), lr=0.03, momentum=0.9)
    return Situation(
        model, lambda number: minimize(optimizer, lambda: cross_entropy(*model(*views(number)))), [optimizer]
    )


@situation("moco_in_the_loop")
def moco_in_the_loop():
    """The loop owns the key encoder and the queue; only the query encoder is planned."""
    model = MomentumContrast()
    optimizer = torch.optim.SGD(model.q.parameters(), lr=0.03, momentum=0.9)

    def step(number):
        def loss():
            one, other = views(number)
            q, k = normalize(model.q(one), dim=1), model.keys(other)
            alike = torch.cat([(q * k).sum(1, keepdim=True), q @ model.queue.clone()], 1)
            model.keep(k)
            return cross_entropy(alike / 0.07, torch.zeros(len(q), dtype=torch.long))

        return minimize(optimizer, loss)

    return Situation(model, step, [optimizer], planned=[model.q], in_bytes=0.9)


@situation("byol")
def byol():
    """BYOL: the online network sees one view after the other; the target network is updated in place."""
    online = nn.Sequential(convolutions(outputs=32), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32))
    target = copy.deepcopy(online[0]).requires_grad_(False)
    optimizer = adamw(online)

    def step(number):
        def loss():
            one, other = views(number)
            with torch.no_grad():
                wanted = target(other), target(one)
            alike = cosine_similarity(online(one), wanted[0]), cosine_similarity(online(other), wanted[1])
            return 4 - 2 * (alike[0] + alike[1]).mean()

        value = minimize(optimizer, loss)
        with torch.no_grad():
            for kept, new in zip(target.parameters(), online[0].parameters()):
                kept.lerp_(new, 0.05)
        return value

    model = nn.ModuleDict({"online": online, "target": target})
    return Situation(model, step, [optimizer], planned=[online], steps=14, budget="95% of activations")


@situation("simsiam")
def simsiam():
    """SimSiam: one forward takes both views and returns predictions and detached projections."""

    class SimSiam(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = resnet(32)
            self.predictor = nn.Sequential(
                nn.Linear(32, 16, bias=False), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 32)
            )

        def forward(self, one, other):
            z = self.encoder(one), self.encoder(other)
            return self.predictor(z[0]), self.predictor(z[1]), z[0].detach(), z[1].detach()

    model = SimSiam()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

    def step(number):
        def loss():
            p1, p2, z1, z2 = model(*views(number))
            return -(cosine_similarity(p1, z2).mean() + cosine_similarity(p2, z1).mean()) / 2

        return minimize(optimizer, loss)

    return Situation(model, step, [optimizer], in_bytes=0.85)


@situation("dino")
def dino():
    """DINO: a teacher with a moving centre, two large and two small views, and a planned student."""
    student = convolutions(outputs=32)
    teacher = copy.deepcopy(student).requires_grad_(False)
    centre = torch.zeros(1, 32)
    optimizer = adamw(student)

    def step(number):
        one, other = views(number)
        small = normal(number + 90, 32, 3, 16, 16)
        with torch.no_grad():
            wanted = [teacher(x) for x in (one, other)]
            sure = [softmax((x - centre) / 0.04, 1) for x in wanted]
        optimizer.zero_grad()
        found = torch.cat([student(torch.cat([one, other])), student(small)]).chunk(4)
        losses = [
            -(w * log_softmax(f / 0.1, 1)).sum(1).mean()
            for i, w in enumerate(sure)
            for j, f in enumerate(found)
            if i != j
        ]
        loss = sum(losses) / len(losses)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            centre.lerp_(torch.cat(wanted).mean(0, keepdim=True), 0.1)
            for kept, new in zip(teacher.parameters(), student.parameters()):
                kept.mul_(0.99).add_(new, alpha=0.01)
        return loss

    model = nn.ModuleDict({"student": student, "teacher": teacher})
    return Situation(model, step, [optimizer], planned=[student], steps=16, observed=lambda: centre)


@situation("masked_autoencoder")
def masked_autoencoder():
    """MAE: the encoder sees a random part of the patches, which is chosen by sorting noise."""

    class Masked(nn.Module):
        def __init__(self, width=48, patches=64):
            super().__init__()
            self.embed = nn.Linear(48, width)
            self.places = nn.Parameter(0.02 * normal(0, 1, patches, width))
            layer = nn.TransformerEncoderLayer(width, 4, 96, 0.0, batch_first=True, norm_first=True)
            self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.decoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
            self.mask = nn.Parameter(torch.zeros(1, 1, width))
            self.head = nn.Linear(width, 48)

        def forward(self, x):
            patches = x.unfold(2, 4, 4).unfold(3, 4, 4).permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)
            n, count, _ = patches.shape
            h = self.embed(patches) + self.places
            order = torch.rand(n, count).argsort(1)
            back, kept = order.argsort(1), order[:, : count // 4]
            h = self.encoder(h.gather(1, kept.unsqueeze(2).expand(-1, -1, h.shape[2])))
            h = torch.cat([h, self.mask.expand(n, count - h.shape[1], -1)], 1)
            h = h.gather(1, back.unsqueeze(2).expand(-1, -1, h.shape[2])) + self.places
            hidden = (back >= count // 4).float()
            error = (self.head(self.decoder(h)) - patches).square().mean(2)
            return (error * hidden).sum() / hidden.sum()

    model = Masked()
    optimizer = adamw(model)
    return Situation(
        model,
        lambda number: minimize(optimizer, lambda: model(normal(number, 16, 3, 32, 32))),
        [optimizer],
        in_bytes=0.8,
    )


@situation("triplets")
def triplets():
    """Three forwards of one network make anchor, positive and negative for a triplet loss."""
    model = perceptron(64, 128, 128, 32)
    optimizer = adamw(model)
    margin = nn.TripletMarginLoss()

    def step(number):
        x = normal(number, 3, 256, 64)
        return minimize(optimizer, lambda: margin(model(x[0]), model(x[1]), model(x[2])))

    return Situation(model, step, [optimizer], steps=16)


@situation("teacher_and_student")
def teacher_and_student():
    """Distillation: the targets are the soft outputs of a frozen teacher."""
    teacher, student = convolutions(16).eval().requires_grad_(False), convolutions(8)
    optimizer = adamw(student)

    def step(number):
        x = normal(number, 16, 3, 32, 32)
        with torch.no_grad():
            wanted = softmax(teacher(x) / 4, 1)
        return minimize(optimizer, lambda: -(wanted * log_softmax(student(x) / 4, 1)).sum(1).mean() * 16)

    model = nn.ModuleDict({"teacher": teacher, "student": student})
    return Situation(model, step, [optimizer], planned=[student], in_bytes=0.88)
