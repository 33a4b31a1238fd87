"""Four networks in PyTorch, trained on linear regression in some minutes on one core.

    iclab probe networks.py:delta --dimension 5 --context 5 10 20

Each name at the end of this file is a function of NumPy arrays: it trains its network
when it is first called (one thread, a fixed seed), then predicts. The prompts are
x ~ N(0, I), y = ⟨w, x⟩ + σε with w ~ N(0, I), d = 5, and at most 20 examples.
"""

import functools
from typing import Any

import numpy as np
import torch  # pyright: ignore[reportMissingImports]

D, LONGEST = 5, 20
torch.set_num_threads(1)


class Transformer(torch.nn.Module):
    """Two layers of softmax attention with learnt positions; tokens are (x, y)."""

    def __init__(self, width=64, heads=2, layers=2):
        super().__init__()
        self.read = torch.nn.Linear(D + 2, width)
        self.places = torch.nn.Parameter(0.02 * torch.randn(LONGEST + 1, width))
        block = torch.nn.TransformerEncoderLayer(
            width, heads, 4 * width, dropout=0.0, batch_first=True, norm_first=True
        )
        self.blocks = torch.nn.TransformerEncoder(
            block, layers, enable_nested_tensor=False
        )
        self.out = torch.nn.Linear(width, 1)

    def forward(self, X, y, q):
        B, n, _ = X.shape
        if n > LONGEST:
            raise ValueError(f"{n} examples: there are {LONGEST} places")
        zero, one = torch.zeros(B, n, 1), torch.ones(B, 1, 1)
        tokens = torch.cat([X, y[..., None], zero], 2)
        query = torch.cat([q[:, None], 0 * one, one], 2)
        h = self.read(torch.cat([tokens, query], 1))
        # The query has a place of its own, the last.
        places = torch.cat([self.places[:n], self.places[-1:]])
        return self.out(self.blocks(h + places)[:, -1])[:, 0]


class Delta(torch.nn.Module):
    """A layer of the delta rule: keys and queries by one matrix, normalised keys."""

    def __init__(self):
        super().__init__()
        self.key = torch.nn.Parameter(torch.eye(D) + 0.1 * torch.randn(D, D))
        self.rate = torch.nn.Parameter(torch.tensor(0.0))
        self.scale = torch.nn.Parameter(torch.tensor(1.0))

    def forward(self, X, y, q):
        k = X @ self.key
        size = k.norm(dim=2, keepdim=True)
        k, v = k / size, y / size[..., 0]
        beta = 2 * torch.sigmoid(self.rate)
        state = torch.zeros(len(X), D)
        for i in range(X.shape[1]):
            error = v[:, i] - (state * k[:, i]).sum(1)
            state = state + beta * error[:, None] * k[:, i]
        return self.scale * (state * (q @ self.key)).sum(1)


class Recurrent(torch.nn.Module):
    """An LSTM that reads the examples, then the query."""

    def __init__(self, width=128):
        super().__init__()
        self.read = torch.nn.LSTM(D + 2, width, batch_first=True)
        self.out = torch.nn.Linear(width, 1)

    def forward(self, X, y, q):
        B, n, _ = X.shape
        tokens = torch.cat([X, y[..., None], torch.zeros(B, n, 1)], 2)
        zero = torch.zeros(B, 1, 1)
        query = torch.cat([q[:, None], zero, zero + 1], 2)
        return self.out(self.read(torch.cat([tokens, query], 1))[0][:, -1])[:, 0]


@functools.cache
def trained(make: Any, steps, noise=0.0, rate=2e-3, batch=128):
    """The network after Adam on fresh prompts of 1 to 20 examples."""
    torch.manual_seed(0)
    net = make()
    optimiser = torch.optim.Adam(net.parameters(), rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, steps)
    for _ in range(steps):
        n = int(torch.randint(1, LONGEST + 1, ()))
        X, w, q = torch.randn(batch, n, D), torch.randn(batch, D), torch.randn(batch, D)
        y = torch.einsum("bnd,bd->bn", X, w) + noise * torch.randn(batch, n)
        loss = ((net(X, y, q) - (w * q).sum(1)) ** 2).mean()
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimiser.step()
        schedule.step()
    return net.eval()


def asked(net, X, y, q):
    """A network's answers to NumPy arrays."""
    tensors = [torch.tensor(np.asarray(a), dtype=torch.float32) for a in (X, y, q)]
    with torch.no_grad():
        return net(*tensors).numpy()


def softmax(X, y, q):
    """A transformer trained without noise."""
    return asked(trained(Transformer, 3000), X, y, q)  # pyright: ignore[reportArgumentType]


def softmax_noisy(X, y, q):
    """A transformer trained with noise ½."""
    return asked(trained(Transformer, 3000, noise=0.5), X, y, q)  # pyright: ignore[reportArgumentType]


def delta(X, y, q):
    """A layer of the delta rule."""
    return asked(trained(Delta, 600, rate=0.02), X, y, q)  # pyright: ignore[reportArgumentType]


def lstm(X, y, q):
    """An LSTM."""
    return asked(trained(Recurrent, 2500), X, y, q)  # pyright: ignore[reportArgumentType]
