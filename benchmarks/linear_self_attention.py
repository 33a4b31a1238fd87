"""One layer of linear attention: Gram space against token space, exact against sampled.

Run: python -m benchmarks.linear_self_attention
"""

import jax
import jax.numpy as jnp

from benchmarks.timing import heading, seconds, show
from iclab.evaluation import sampled_risk
from iclab.models import LinearSelfAttention
from iclab.tasks import LinearRegression
from iclab.theory import largest_initial_scale, lsa_risk, optimal_preconditioner
from iclab.training import lsa_gradient_flow, trained_lsa

_DIMENSION, _PROMPTS = 5, 1000


def forward_and_gradient() -> None:
    """Predictions, and loss with gradient, for a batch of prompts of three lengths."""
    covariance = jnp.eye(_DIMENSION)
    model = trained_lsa(covariance, 20)
    task = LinearRegression(covariance)

    def from_moments(model, prompts):
        return jax.vmap(
            lambda S, b, v, q: model.from_moments(S, b, v, q, 1)
        )(*prompts)  # fmt: skip

    def loss(predict):
        return jax.jit(
            jax.value_and_grad(lambda m, p, t: jnp.mean((predict(m, p) - t) ** 2))
        )

    gram = lambda m, p: jax.vmap(m)(p)  # noqa: E731
    token = lambda m, p: jax.vmap(m.in_token_space)(p)  # noqa: E731
    forward = {name: jax.jit(f) for name, f in (("g", gram), ("t", token))}
    training = {name: loss(f) for name, f in (("g", gram), ("t", token))}
    known = loss(from_moments)
    rows = []
    for n in (20, 200, 2000):
        prompts = task.sample_batch(jax.random.key(n), _PROMPTS, n)
        moments = jax.vmap(
            lambda p: (p.gram(), p.correlation(), jnp.mean(p.labels**2), p.query)
        )(prompts)
        # Token space at n = 2,000 holds a 2,001² matrix a prompt: fewer, then scaled.
        few = min(_PROMPTS, 40_000 // n)
        part = jax.tree.map(lambda leaf, few=few: leaf[:few], prompts)
        scale = _PROMPTS / few
        rows.append(
            (
                n,
                seconds(lambda p=prompts: forward["g"](model, p)),
                scale * seconds(lambda p=part: forward["t"](model, p), 3),
                seconds(lambda p=prompts: training["g"](model, p, p.target)),
                scale * seconds(lambda p=part: training["t"](model, p, p.target), 3),
                seconds(lambda m=moments, p=prompts: known(model, m, p.target)),
            )
        )
    heading(f"forward, {_PROMPTS} prompts, d={_DIMENSION}", "Gram", "token")
    for n, ours, theirs, *_ in rows:
        show(f"n={n}", ours, theirs)
    heading("loss + gradient, moments formed on the way", "Gram", "token")
    for n, _, _, ours, theirs, _ in rows:
        show(f"n={n}", ours, theirs)
    heading("loss + gradient, moments known", "moments", "token")
    for n, _, _, _, theirs, ours in rows:
        show(f"n={n}", ours, theirs)


def exact_risk() -> None:
    """The exact risk against as many prompts as a relative error of 1 % takes."""
    heading("risk to 1 %", "exact", "Monte Carlo")
    for d, M in ((5, 3), (5, 20), (20, 40)):
        covariance = jnp.diag(jnp.linspace(0.5, 1.5, d))
        P = optimal_preconditioner(covariance, 20)
        model, task = trained_lsa(covariance, 20), LinearRegression(covariance)
        exact = jax.jit(lambda P, covariance, M=M: lsa_risk(P, covariance, M))

        def sampled(prompts, model=model, task=task, M=M):
            return sampled_risk(
                {"": model}, task, examples=M, prompts=prompts, key=jax.random.key(0)
            )[""]

        mean, error = sampled(20_000)
        needed = int(20_000 * float(error / mean / 0.01) ** 2)
        ours = seconds(lambda P=P, c=covariance, f=exact: f(P, c))
        theirs = seconds(lambda n=needed, f=sampled: f(n), 3)
        show(f"d={d}, M={M} ({needed:,} prompts)", ours, theirs)


def gradient_flow() -> None:
    """Gradient flow from a balanced start until the gradient is below 1e-10."""
    print(f"\n{'gradient flow to 1e-10':<58} {'time':>13} {'steps':>10}")
    for d in (5, 20, 50):
        covariance = jnp.diag(jnp.append(jnp.linspace(1.5, 0.5, d - 1), 0.05))
        start = LinearSelfAttention.random_balanced(
            d, 0.5 * largest_initial_scale(covariance, 20), None, key=jax.random.key(0)
        )
        U11, u_last = start.key_query[:d, :d], start.value_projection[d, d]
        run = lambda c=covariance, U=U11, u=u_last: lsa_gradient_flow(c, 20, U, u)  # noqa: E731
        time, flow = seconds(run, 3), run()
        print(f"{f'd={d}':<58} {time * 1e3:10.1f} ms {int(flow.step):10d}")


if __name__ == "__main__":
    forward_and_gradient()
    exact_risk()
    gradient_flow()
