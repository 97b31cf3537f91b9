"""Speech and text: recurrent networks with kept states, varying lengths, CTC."""

import torch
from torch import nn
from torch.nn.functional import cross_entropy, ctc_loss
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from inputs import generator, normal, tokens
from models.transformers_language import next_word_padded
from situation import Situation, situation
from situations.networks import adamw, gpt2, minimize, next_word_loss


class WordModel(nn.Module):
    """PyTorch's example of a language model: an LSTM whose state is carried from batch to batch."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(128, 48)
        self.lstm = nn.LSTM(48, 64, 2, dropout=0.2)
        self.head = nn.Linear(64, 128)

    def forward(self, ids, state=None):
        found, state = self.lstm(self.words(ids), state)
        return self.head(found), state


@situation("state_from_batch_to_batch")
def state_from_batch_to_batch():
    """Truncated backpropagation: the loop detaches the state and passes it to the next forward."""
    model = WordModel()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    state = [(torch.zeros(2, 8, 64), torch.zeros(2, 8, 64))]

    def step(number):
        ids = tokens(number, 25, 8)
        optimizer.zero_grad()
        found, new = model(ids[:-1], tuple(part.detach() for part in state[0]))
        loss = cross_entropy(found.flatten(0, 1), ids[1:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
        state[0] = new
        return loss

    return Situation(model, step, [optimizer], in_bytes=0.9)


@situation("state_kept_by_the_module")
def state_kept_by_the_module():
    """Truncated backpropagation with the state as a tuple in an attribute of the module. The loop sets this
    attribute to None once."""

    class Stateful(WordModel):
        state = None

        def forward(self, ids):
            found, state = super().forward(ids, self.state)
            self.state = tuple(part.detach() for part in state)
            return found

    model = Stateful()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)

    def step(number):
        if number == 8:
            model.state = None
        ids = tokens(number, 25, 8)
        return minimize(optimizer, lambda: cross_entropy(model(ids[:-1]).flatten(0, 1), ids[1:].flatten()))

    return Situation(model, step, [optimizer], in_bytes=0.9, steps=16)


@situation("packed_sequences", "refused", "the sizes of packed sequences are other ones in each batch")
def packed_sequences():
    """The lengths of the sentences differ from batch to batch; the sentences are packed for a GRU."""

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.gru = nn.Embedding(128, 32, padding_idx=0), nn.GRU(32, 48, batch_first=True)
            self.head = nn.Linear(48, 2)

        def forward(self, ids, lengths):
            packed = pack_padded_sequence(self.words(ids), lengths, batch_first=True, enforce_sorted=False)
            found, _ = pad_packed_sequence(self.gru(packed)[0], batch_first=True)
            return self.head(found.sum(1) / lengths.unsqueeze(1))

    model = Classifier()
    optimizer = adamw(model)

    def step(number):
        lengths = torch.randint(4, 24, (16,), generator=generator(number))
        ids = tokens(number, 16, int(lengths.max()))
        return minimize(optimizer, lambda: cross_entropy(model(ids, lengths), (ids[:, 0] > 64).long()))

    return Situation(model, step, [optimizer], steps=12)


class Listener(nn.Module):
    """A network of convolutions and a bidirectional LSTM over frames of sound."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(20, 48, 5, 2, 2)
        self.lstm = nn.LSTM(48, 32, bidirectional=True, batch_first=True)
        self.head = nn.Linear(64, 29)

    def forward(self, x):
        return self.head(self.lstm(self.conv(x).relu().transpose(1, 2))[0]).log_softmax(2).transpose(0, 1)


def transcripts(number: int):
    sizes = torch.randint(5, 12, (8,), generator=generator(number))
    frames = torch.randint(30, 40, (8,), generator=generator(number + 1))
    return tokens(number, 8, 12, 29), frames, sizes


@situation("ctc_in_the_loop")
def ctc_in_the_loop():
    """As in torchaudio, the model returns log-probabilities, and the loop computes the CTC loss."""
    model = Listener()
    optimizer = adamw(model)

    def step(number):
        return minimize(optimizer, lambda: ctc_loss(model(normal(number, 8, 20, 80)), *transcripts(number)))

    return Situation(model, step, [optimizer], in_bytes=0.9)


@situation(
    "ctc_in_the_model", "refused", "the CTC loss reads the lengths, which are other ones in each batch"
)
def ctc_in_the_model():
    """The model gets the targets and returns the CTC loss."""

    class WithLoss(Listener):
        def forward(self, x, targets, frames, sizes):
            return ctc_loss(super().forward(x), targets, frames, sizes, zero_infinity=True)

    model = WithLoss()
    optimizer = adamw(model)

    def step(number):
        return minimize(optimizer, lambda: model(normal(number, 8, 20, 80), *transcripts(number)))

    return Situation(model, step, [optimizer])


@situation("lengths_in_buckets")
def lengths_in_buckets():
    """Batches with four different lengths alternate."""
    model = gpt2()
    optimizer = adamw(model)

    def step(number):
        return minimize(optimizer, lambda: next_word_loss(model, number, length=(16, 24, 32, 48)[number % 4]))

    return Situation(model, step, [optimizer], in_bytes=0.9, steps=24)


@situation("padded_texts")
def padded_texts():
    """A collator pads all texts to one length; the masks differ from batch to batch."""
    model = gpt2()
    optimizer = adamw(model)

    def step(number):
        return minimize(optimizer, lambda: model(**next_word_padded(number).kwargs).loss)

    return Situation(model, step, [optimizer], in_bytes=0.85)


@situation("decoder_with_its_own_words", "refused", "a random number of Python says in each step what is fed")
def decoder_with_its_own_words():
    """The tutorial of translation: a random number decides for each batch whether teacher forcing is used."""
    import random

    class Translator(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.encoder = nn.Embedding(64, 32), nn.GRU(32, 32, batch_first=True)
            self.decoder, self.head = nn.GRUCell(32, 32), nn.Linear(32, 64)

        def forward(self, source, target):
            _, state = self.encoder(self.words(source))
            state, word, found = state[0], target[:, 0] * 0, []
            forced = random.random() < 0.5
            for place in range(target.shape[1]):
                state = self.decoder(self.words(word), state)
                found.append(self.head(state))
                word = target[:, place] if forced else found[-1].argmax(1)
            return torch.stack(found, 1)

    model = Translator()
    optimizer = adamw(model)

    def step(number):
        source, target = tokens(number, 16, 10, 64), tokens(number + 50, 16, 8, 64)
        return minimize(
            optimizer, lambda: cross_entropy(model(source, target).flatten(0, 1), target.flatten())
        )

    return Situation(model, step, [optimizer])
