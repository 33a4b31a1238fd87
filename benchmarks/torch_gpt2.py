"""The same GPT-2 in PyTorch, eager and compiled, for `benchmarks.gpt2` to race with."""

# pyright: reportMissingImports=false, reportOptionalMemberAccess=false

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from iclab.models import GPT2


class TorchGPT2(torch.nn.Module):
    """A GPT-2 with the weights of one of ours, as PyTorch's users would write it."""

    def __init__(self, model: GPT2):
        super().__init__()
        self.heads, self.depth = model.heads, model.depth
        self.weights = torch.nn.ParameterDict(
            {
                name.replace(".", "_"): torch.nn.Parameter(torch.from_numpy(array))
                for name, array in _arrays(model).items()
            }
        )

    def forward(self, inputs: Tensor, labels: Tensor) -> Tensor:
        """Predictions at every input from the pairs before it."""
        batch, points, dimension = inputs.shape
        padded = F.pad(labels[..., None], (0, dimension - 1))
        tokens = torch.stack([inputs, padded], 2).reshape(batch, -1, dimension)[:, :-1]
        stream = (
            self._affine("read_in", tokens)
            + self.weights["positions"][: 2 * points - 1]
        )
        for i in range(self.depth):
            stream = stream + self._attention(i, self._norm(f"h{i}_ln1", stream))
            hidden = self._affine(f"h{i}_in", self._norm(f"h{i}_ln2", stream))
            stream = stream + self._affine(
                f"h{i}_out", F.gelu(hidden, approximate="tanh")
            )
        return self._affine("read_out", self._norm("ln", stream[:, ::2]))[..., 0]

    def _attention(self, i: int, normed: Tensor) -> Tensor:
        batch, tokens, width = normed.shape
        query, key, value = (
            part.view(batch, tokens, self.heads, -1).transpose(1, 2)
            for part in self._affine(f"h{i}_qkv", normed).split(width, -1)
        )
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        joined = mixed.transpose(1, 2).reshape(batch, tokens, width)
        return self._affine(f"h{i}_project", joined)

    def _affine(self, name: str, rows: Tensor) -> Tensor:
        return F.linear(rows, self.weights[f"{name}_w"], self.weights[f"{name}_b"])

    def _norm(self, name: str, rows: Tensor) -> Tensor:
        scale, shift = self.weights[f"{name}_w"], self.weights[f"{name}_b"]
        return F.layer_norm(rows, scale.shape, scale, shift)


def _arrays(model: GPT2) -> dict[str, np.ndarray]:
    pairs = {"read_in": model.read_in, "read_out": model.read_out}
    for i, block in enumerate(model.blocks):
        pairs |= {
            f"h{i}_qkv": block.attention,
            f"h{i}_project": block.attention_out,
            f"h{i}_in": block.network_in,
            f"h{i}_out": block.network_out,
        }
    norms = {"ln": model.final_norm}
    for i, block in enumerate(model.blocks):
        norms |= {f"h{i}_ln1": block.attention_norm, f"h{i}_ln2": block.network_norm}
    arrays = {"positions": model.positions}
    for name, affine in pairs.items():
        arrays |= {f"{name}_w": affine.weight, f"{name}_b": affine.bias}
    for name, norm in norms.items():
        arrays |= {f"{name}_w": norm.scale, f"{name}_b": norm.shift}
    return {name: np.array(array) for name, array in arrays.items()}


class Race:
    """Steps of Adam on one batch, by PyTorch."""

    def __init__(self, model: GPT2, inputs, labels, *, compiled: bool):
        self.inputs = torch.from_numpy(np.array(inputs))
        self.labels = torch.from_numpy(np.array(labels))
        twin = TorchGPT2(model)
        self.optimiser = torch.optim.Adam(twin.parameters(), 1e-4, fused=True)
        self.network = torch.compile(twin) if compiled else twin

    def loss(self) -> Tensor:
        return F.mse_loss(self.network(self.inputs, self.labels), self.labels)

    def step(self) -> float:
        """The loss before the step."""
        self.optimiser.zero_grad(set_to_none=True)
        loss = self.loss()
        loss.backward()
        self.optimiser.step()
        return loss.item()
