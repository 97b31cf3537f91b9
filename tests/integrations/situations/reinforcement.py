"""Reinforcement learning, and learning from human preferences."""

import copy

import torch
from torch import nn
from torch.distributions import Categorical
from torch.nn.functional import logsigmoid, smooth_l1_loss

from inputs import classes, generator, normal, tokens
from situation import Situation, situation
from situations.networks import adamw, gpt2, llama, minimize, perceptron


@situation("deep_q_network")
def deep_q_network():
    """DQN as in PyTorch's tutorial: actions are chosen without autograd. There are a replay memory and a slow
    target network."""
    policy = perceptron(32, 128, 128, 128, 4)
    target = copy.deepcopy(policy).requires_grad_(False)
    optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-3, amsgrad=True)

    def step(number):
        with torch.no_grad():
            policy(normal(number, 1, 32)).argmax(1)
        state, after = normal(number, 512, 32), normal(number + 50, 512, 32)
        action, reward = classes(number, 512, 4).unsqueeze(1), normal(number + 90, 512)
        with torch.no_grad():
            wanted = reward + 0.99 * target(after).max(1).values
        optimizer.zero_grad()
        loss = smooth_l1_loss(policy(state).gather(1, action).squeeze(1), wanted)
        loss.backward()
        torch.nn.utils.clip_grad_value_(policy.parameters(), 100)
        optimizer.step()
        new, kept = policy.state_dict(), target.state_dict()
        for name in kept:
            kept[name] = new[name] * 0.05 + kept[name] * 0.95
        target.load_state_dict(kept)
        return loss

    model = nn.ModuleDict({"policy": policy, "target": target})
    return Situation(model, step, [optimizer], planned=[policy])


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = perceptron(32, 64, 64, activation=nn.Tanh)
        self.actor, self.critic = nn.Linear(64, 4), nn.Linear(64, 1)

    def forward(self, x):
        h = self.body(x).tanh()
        return self.actor(h), self.critic(h).squeeze(1)


@situation("proximal_policy")
def proximal_policy():
    """PPO: a rollout without autograd, then two epochs of shuffled minibatches."""
    model = ActorCritic()
    optimizer = adamw(model)

    def step(number):
        state, reward = normal(number, 512, 32), normal(number + 50, 512)
        with torch.no_grad():
            logits, value = model(state)
            policy = Categorical(logits=logits)
            action = policy.sample()
            before, gain = policy.log_prob(action), reward - value
        losses = []
        for _ in range(2):
            for chosen in torch.randperm(512).split(128):
                logits, value = model(state[chosen])
                policy = Categorical(logits=logits)
                ratio = (policy.log_prob(action[chosen]) - before[chosen]).exp()
                clipped = ratio.clamp(0.8, 1.2)
                loss = -torch.min(ratio * gain[chosen], clipped * gain[chosen]).mean()
                loss = loss + 0.5 * (value - reward[chosen]).square().mean() - 0.01 * policy.entropy().mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 0.5)
                optimizer.step()
                losses.append(loss)
        return losses

    return Situation(model, step, [optimizer], steps=5)


@situation("policy_gradient_of_an_episode")
def policy_gradient_of_an_episode():
    """REINFORCE: each move of an episode has a forward, and the episode ends with one backward."""
    model = perceptron(8, 32, 32, 2)
    optimizer = adamw(model)

    def step(number):
        state, logs = normal(number, 1, 8), []
        for move in range(6):
            policy = Categorical(logits=model(state))
            action = policy.sample()
            logs.append(policy.log_prob(action))
            state = (state.roll(1, 1) + 0.1 * (action - 0.5)).detach()
        optimizer.zero_grad()
        loss = -(torch.cat(logs) * torch.arange(6, 0, -1)).sum()
        loss.backward()
        optimizer.step()
        return loss

    return Situation(model, step, [optimizer], steps=6, budget="100%")


@situation("soft_actor_critic")
def soft_actor_critic():
    """SAC: one module has two critics, the actor's loss goes through both critics, and a temperature is
    learned."""

    class Critics(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = perceptron(40, 64, 64, 1), perceptron(40, 64, 64, 1)

        def forward(self, state, action):
            x = torch.cat([state, action], 1)
            return self.one(x), self.two(x)

    actor, critics = perceptron(32, 64, 64, 16), Critics()
    target = copy.deepcopy(critics).requires_grad_(False)
    log_weight = nn.Parameter(torch.zeros(()))
    optimizers = [adamw(actor), adamw(critics), torch.optim.Adam([log_weight], lr=1e-3)]

    def acted(state):
        mean, spread = actor(state).chunk(2, 1)
        policy = torch.distributions.Normal(mean, spread.clamp(-5, 2).exp())
        action = policy.rsample()
        return action.tanh(), (policy.log_prob(action) - torch.log1p(-action.tanh().square() + 1e-6)).sum(1)

    def step(number):
        state, after = normal(number, 256, 32), normal(number + 50, 256, 32)
        with torch.no_grad():
            action, chance = acted(after)
            wanted = 0.99 * (torch.min(*target(after, action)).squeeze(1) - log_weight.exp() * chance)
        one, two = critics(state, normal(number + 90, 256, 8).tanh())
        loss = (one.squeeze(1) - wanted).square().mean() + (two.squeeze(1) - wanted).square().mean()
        optimizers[1].zero_grad()
        loss.backward()
        optimizers[1].step()
        action, chance = acted(state)
        gain = (log_weight.exp().detach() * chance - torch.min(*critics(state, action)).squeeze(1)).mean()
        optimizers[0].zero_grad()
        gain.backward()
        optimizers[0].step()
        optimizers[2].zero_grad()
        (-(log_weight.exp() * (chance.detach() - 8)).mean()).backward()
        optimizers[2].step()
        with torch.no_grad():
            for kept, new in zip(target.parameters(), critics.parameters()):
                kept.lerp_(new, 0.01)
        return loss, gain

    model = nn.ModuleDict({"actor": actor, "critics": critics, "target": target})
    return Situation(model, step, optimizers, planned=[actor, critics], steps=14, observed=lambda: log_weight)


def chance_of(model, ids, mask) -> torch.Tensor:
    """Returns the log-probability of each answer. The words of the answer have mask 1."""
    logs = model(input_ids=ids).logits[:, :-1].log_softmax(2)
    return (logs.gather(2, ids[:, 1:].unsqueeze(2)).squeeze(2) * mask[:, 1:]).sum(1)


@situation("direct_preferences")
def direct_preferences():
    """DPO as in trl: chosen and rejected answers are in one batch, and a frozen model is the reference."""
    model = llama()
    reference = copy.deepcopy(model).eval().requires_grad_(False)
    optimizer = adamw(model)

    def step(number):
        ids = tokens(number, 8, 32)
        mask = (torch.arange(32) >= torch.randint(8, 16, (8, 1), generator=generator(number))).float()
        with torch.no_grad():
            usual = chance_of(reference, ids, mask)

        def loss():
            better, worse = (chance_of(model, ids, mask) - usual).chunk(2)
            return -logsigmoid(0.1 * (better - worse)).mean()

        return minimize(optimizer, loss)

    return Situation(nn.ModuleList([model, reference]), step, [optimizer], planned=[model], in_bytes=0.85)


@situation("grouped_policy")
def grouped_policy():
    """GRPO as in trl: the model itself generates a group of texts for each prompt. The reward of a text is
    relative to its group."""
    model = gpt2()
    optimizer = adamw(model)

    def step(number):
        prompt = tokens(number, 2, 4).repeat_interleave(4, 0)
        model.eval()
        with torch.no_grad():
            ids = model.generate(prompt, do_sample=True, min_new_tokens=12, max_new_tokens=12, pad_token_id=0)
        model.train()
        reward = (ids > 64).float().mean(1).view(2, 4)
        gain = ((reward - reward.mean(1, keepdim=True)) / (reward.std(1, keepdim=True) + 1e-4)).flatten()
        mask = (torch.arange(16) >= 4).float().expand(8, 16)
        return minimize(optimizer, lambda: -(chance_of(model, ids, mask) * gain).mean() / 12)

    return Situation(model, step, [optimizer])
