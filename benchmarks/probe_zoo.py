"""A zoo of methods for the probe, each written by itself: arrays in, predictions out.

`methods(d, n)` has every method of the probe's table with two settings, in code that
shares nothing with the table, and methods that are on no menu. They were written before
the probe's thresholds were looked at; every second one (`kept`) was kept for the end.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import expm


class Method(NamedTuple):
    """A method; `name` is the family that it belongs to, None for no menu's."""

    label: str
    predict: Callable[..., np.ndarray]
    name: str | None


def _gram(X, y):
    n = X.shape[1]
    return X.transpose(0, 2, 1) @ X / n, np.einsum("bni,bn->bi", X, y) / n


def _weights(rule):
    """A method from a rule (X, y) → w of one prompt at a time, or of all."""
    return lambda X, y, q: np.einsum("bi,bi->b", rule(X, y), q)


def _each(rule):
    return _weights(
        lambda X, y: np.stack([rule(a, b) for a, b in zip(X, y, strict=True)])
    )


def _exact(X, y):
    return np.einsum("bin,bn->bi", np.linalg.pinv(X), y)


def _ridge(tau):
    def rule(X, y):
        S, c = _gram(X, y)
        return np.linalg.solve(S + tau * np.eye(S.shape[1]), c[:, :, None])[:, :, 0]

    return rule


def _relative(share):
    def rule(X, y):
        S, c = _gram(X, y)
        tau = share * np.trace(S, axis1=1, axis2=2)[:, None, None]
        return np.linalg.solve(S + tau * np.eye(S.shape[1]), c[:, :, None])[:, :, 0]

    return rule


def _descent(steps, size, beta=0.0, matrix=None):
    def rule(X, y):
        S, c = _gram(X, y)
        w = last = np.zeros_like(c)
        for _ in range(steps):
            g = c - np.einsum("bij,bj->bi", S, w)
            g = g if matrix is None else g @ matrix
            w, last = w + size * g + beta * (w - last), w
        return w

    return rule


def _free(sizes):
    def rule(X, y):
        S, c = _gram(X, y)
        w = np.zeros_like(c)
        for size in sizes:
            w = w + size * (c - np.einsum("bij,bj->bi", S, w))
        return w

    return rule


def _nesterov(steps, size):
    def rule(X, y):
        S, c = _gram(X, y)
        w = v = np.zeros_like(c)
        t = 1.0
        for k in range(1, steps + 1):
            new = v + size * (c - np.einsum("bij,bj->bi", S, v))
            v, w = new + k / (k + 3) * (new - w), new
            t += 1
        return w

    return rule


def _chebyshev(steps, low, high):
    """Chebyshev's step sizes 1/r with the roots r of the polynomial."""
    angles = np.pi * (2 * np.arange(steps) + 1) / (2 * steps)
    return _free(1 / ((high + low) / 2 + (high - low) / 2 * np.cos(angles)))


def _gdpp(steps, eta, beta):
    """GD++ on the tokens themselves."""

    def predict(X, y, q):
        Z, u, left, out = X.copy(), q.copy(), y.copy(), np.zeros(len(y))
        n = X.shape[1]
        for _ in range(steps):
            S = Z.transpose(0, 2, 1) @ Z / n
            c = np.einsum("bni,bn->bi", Z, left) / n
            out = out + eta * np.einsum("bi,bi->b", c, u)
            left = left - eta * np.einsum("bni,bi->bn", Z, c)
            Z, u = Z - beta * Z @ S, u - beta * np.einsum("bij,bj->bi", S, u)
        return out

    return predict


def _newton(iterations):
    def rule(X, y):
        S, c = _gram(X, y)
        M = S / np.trace(S, axis1=1, axis2=2)[:, None, None] ** 2
        for _ in range(iterations):
            M = 2 * M - M @ S @ M
        return np.einsum("bij,bj->bi", M, c)

    return rule


def _flow(time):
    def rule(X, y):
        S = X.T @ X / len(X)
        d = len(S)
        block = np.zeros((2 * d, 2 * d))
        block[:d, :d], block[:d, d:] = -S, np.eye(d)
        return expm(time * block)[:d, d:] @ (X.T @ y / len(X))

    return rule


def _components(keep):
    def rule(X, y):
        S, c = X.T @ X / len(X), X.T @ y / len(X)
        values, U = np.linalg.eigh(S)
        on = keep(values) & (values > 1e-10)
        return U[:, on] @ ((U[:, on].T @ c) / values[on])

    return rule


def _mixed(*pairs):
    return lambda X, y, q: sum(a * f(X, y, q) for a, f in pairs)


def _online(gain, passes=1):
    def rule(X, y):
        w = np.zeros((len(y), X.shape[2]))
        for _ in range(passes):
            for x, t in zip(X.transpose(1, 0, 2), y.T, strict=True):
                w = w + gain(x, t - (w * x).sum(1))[:, None] * x
        return w

    return rule


def _recursive(gamma, start):
    """Recursive least squares as an engineer writes it."""

    def rule(X, y):
        B, _n, d = X.shape
        M, w = np.tile(np.eye(d) / start, (B, 1, 1)), np.zeros((B, d))
        for x, t in zip(X.transpose(1, 0, 2), y.T, strict=True):
            Mx = np.einsum("bij,bj->bi", M, x)
            k = Mx / (gamma + (x * Mx).sum(1))[:, None]
            w = w + k * (t - (w * x).sum(1))[:, None]
            M = (M - k[:, :, None] * Mx[:, None, :]) / gamma
        return w

    return rule


def _faded(gamma):
    def rule(X, y):
        age = gamma ** np.arange(X.shape[1])[::-1]
        return np.einsum("bni,bn,n->bi", X, y, age) / X.shape[1]

    return rule


def _krylov(steps):
    """The best of the Krylov space, by an orthogonal basis."""

    def rule(X, y):
        S, c = X.T @ X / len(X), X.T @ y / len(X)
        K = [c / np.linalg.norm(c)]
        for _ in range(steps - 1):
            v = S @ K[-1]
            for _ in range(2):
                v = v - sum((v @ k) * k for k in K)
            K.append(v / np.linalg.norm(v))
        Q = np.stack(K, 1)
        return Q @ np.linalg.solve(Q.T @ S @ Q, Q.T @ c)

    return rule


def _evidence(X, y):
    """Ridge with the penalty of largest likelihood, by finer and finer grids."""
    n = len(y)
    values, U = np.linalg.eigh(X @ X.T)
    z = (U.T @ y) ** 2
    logs = np.linspace(-16, 9, 251)

    def loss(log):
        spread = np.maximum(values, 0)[None] * np.exp(-log)[:, None] + 1
        square = np.maximum((z[None] / spread).sum(1), 1e-12 * z.sum())
        return n * np.log(square) + np.log(spread).sum(1)

    for width in (0.1, 0.01, 1e-3, 1e-4):
        best = logs[np.argmin(loss(logs))]
        logs = best + width * np.linspace(-1, 1, 41)
    return np.linalg.solve(X.T @ X + np.exp(best) * np.eye(X.shape[1]), X.T @ y)


def _lasso(penalty):
    """Proximal gradient steps with momentum, to the end."""

    def rule(X, y):
        S, c = _gram(X, y)
        step = 1 / np.linalg.norm(S, 2, axis=(1, 2))[:, None]
        w = v = np.zeros_like(c)
        t = 1.0
        for _ in range(1500):
            u = v + step * (c - np.einsum("bij,bj->bi", S, v))
            new = np.sign(u) * np.maximum(np.abs(u) - step * penalty, 0)
            again = (1 + np.sqrt(1 + 4 * t * t)) / 2
            restart = ((v - new) * (new - w)).sum(1, keepdims=True) > 0
            v = new + np.where(restart, 0, (t - 1) / again) * (new - w)
            w, t = new, again if t < 60 else 1.0
        return w

    return rule


def _relevance(noise):
    """Relevance vectors: a prior variance for every weight, 30 updates by EM."""

    def rule(X, y):
        n, d = X.shape
        prior, sigma, w = np.ones(d), n * noise, np.zeros(d)
        for _ in range(30):
            V = np.linalg.inv(X.T @ X / sigma + np.diag(1 / prior))
            w = V @ X.T @ y / sigma
            prior = np.maximum(w**2 + np.diag(V), 1e-8)
        return w

    return rule


def _huber(threshold):
    """Huber's loss by L-BFGS-free Newton steps with halving."""

    def rule(X, y):
        _B, _, d = X.shape
        w = _exact(X, y) * 0
        weights = np.ones_like(y)
        for _ in range(300):
            G = np.einsum("bni,bn,bnj->bij", X, weights, X) + 1e-12 * np.eye(d)
            w = np.linalg.solve(G, np.einsum("bni,bn,bn->bi", X, weights, y)[..., None])
            w = w[:, :, 0]
            r = np.abs(y - np.einsum("bni,bi->bn", X, w))
            weights = np.minimum(1, threshold / np.maximum(r, 1e-300))
        return w

    return rule


def _pursuit(atoms):
    def rule(X, y):
        chosen: list[int] = []
        w = np.zeros(X.shape[1])
        scale = np.linalg.norm(X, axis=0)
        for _ in range(min(atoms, X.shape[1])):
            score = np.abs(X.T @ (y - X @ w)) / scale
            score[chosen] = -1
            chosen.append(int(np.argmax(score)))
            w = np.zeros(X.shape[1])
            w[chosen] = np.linalg.lstsq(X[:, chosen], y, rcond=None)[0]
        return w

    return rule


def _attention(logits, share=1.0):
    def predict(X, y, q):
        L = logits(X, q)
        A = np.exp(L - L.max(1, keepdims=True))
        return share * (A * y).sum(1) / A.sum(1)

    return predict


def _square(X, q):
    return ((X - q[:, None]) ** 2).sum(2)


def _kernel_ridge(width, penalty):
    def predict(X, y, q):
        gaps = ((X[:, :, None] - X[:, None]) ** 2).sum(3)
        K = np.exp(-gaps / (2 * width**2)) + penalty * np.eye(X.shape[1])
        k = np.exp(-_square(X, q) / (2 * width**2))
        return np.einsum("bn,bn->b", k, np.linalg.solve(K, y[:, :, None])[:, :, 0])

    return predict


def _nearest(k):
    def predict(X, y, q):
        near = np.argsort(_square(X, q), axis=1)[:, :k]
        return np.take_along_axis(y, near, 1).mean(1)

    return predict


# On no menu. -------------------------------------------------------------------------


def _anderson(steps, size):
    """Anderson acceleration of gradient descent, memory two."""

    def rule(X, y):
        S, c = X.T @ X / len(X), X.T @ y / len(X)
        ws, fs = [np.zeros(len(c))], []
        for _ in range(steps):
            w = ws[-1]
            f = size * (c - S @ w)
            fs.append(f)
            if len(fs) > 1:
                df, dw = fs[-1] - fs[-2], ws[-1] - ws[-2]
                a = (df @ f) / max(df @ df, 1e-300)
                ws.append(w + f - a * (dw + df))
            else:
                ws.append(w + f)
        return ws[-1]

    return rule


def _trimmed(share):
    def rule(X, y):
        w = np.linalg.lstsq(X, y, rcond=None)[0]
        keep = max(X.shape[1], int((1 - share) * len(y)))
        for _ in range(5):
            order = np.argsort(np.abs(y - X @ w))[:keep]
            w = np.linalg.lstsq(X[order], y[order], rcond=None)[0]
        return w

    return rule


def _lookup(d, tasks, soft=None):
    known = np.random.default_rng(5).normal(size=(tasks, d))

    def rule(X, y):
        left = ((y[:, None] - np.einsum("bni,ti->btn", X, known)) ** 2).sum(2)
        if soft is None:
            return known[left.argmin(1)]
        L = -left / (2 * soft**2)
        A = np.exp(L - L.max(1, keepdims=True))
        return A @ known / A.sum(1, keepdims=True)

    return rule


def _steepest(steps):
    def rule(X, y):
        S, c = _gram(X, y)
        w = np.zeros_like(c)
        for _ in range(steps):
            g = c - np.einsum("bij,bj->bi", S, w)
            bend = np.einsum("bi,bij,bj->b", g, S, g)
            w = w + ((g * g).sum(1) / np.maximum(bend, 1e-300))[:, None] * g
        return w

    return rule


def _adam(steps, size):
    def rule(X, y):
        S, c = _gram(X, y)
        w = m = v = np.zeros_like(c)
        for t in range(1, steps + 1):
            g = np.einsum("bij,bj->bi", S, w) - c
            m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
            w = w - size * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.99**t)) + 1e-8)
        return w

    return rule


def _averaged(size):
    """Polyak's mean of the iterates of LMS."""

    def rule(X, y):
        w = total = np.zeros((len(y), X.shape[2]))
        for x, t in zip(X.transpose(1, 0, 2), y.T, strict=True):
            w = w + size * (t - (w * x).sum(1))[:, None] * x
            total = total + w
        return total / X.shape[1]

    return rule


def _gated(size, keep):
    def rule(X, y):
        w = np.zeros((len(y), X.shape[2]))
        for x, t in zip(X.transpose(1, 0, 2), y.T, strict=True):
            w = keep * w
            w = w + size * (t - (w * x).sum(1))[:, None] * x
        return w

    return rule


def _shrunk(X, y):
    """Least squares shrunk by what its own size says."""
    w = _exact(X, y)
    size = (w * w).sum(1, keepdims=True)
    return w * size / (size + 1)


def _iterated(tau, power):
    def rule(X, y):
        S, c = X.T @ X / len(X), X.T @ y / len(X)
        values, U = np.linalg.eigh(S)
        on = values > 1e-12
        inverse = np.where(on, 1 / np.where(on, values, 1), 0)
        return U @ ((values / (values + tau)) ** power * inverse * (U.T @ c))

    return rule


def _quadratic(X, y, q):
    """Ridge on the inputs and their squares."""
    F, f = np.concatenate([X, 0.5 * X**2], 2), np.concatenate([q, 0.5 * q**2], 1)
    return np.einsum("bi,bi->b", _ridge(0.3)(F, y), f)


def _median_of_parts(X, y, q):
    parts = [_weights(_ridge(0.1))(X[:, i::3], y[:, i::3], q) for i in range(3)]
    return np.median(parts, axis=0)


def _exponentiated(X, y):
    """Exponentiated gradient, both signs, ten steps."""
    S, c = _gram(X, y)
    up = down = np.full_like(c, 0.1)
    for _ in range(10):
        g = np.einsum("bij,bj->bi", S, up - down) - c
        up, down = up * np.exp(-0.3 * g), down * np.exp(0.3 * g)
    return up - down


def methods(d: int, n: int) -> list[Method]:
    """All methods, for n examples in d dimensions."""
    rng = np.random.default_rng(3)
    A = rng.normal(size=(d, d))
    A = 0.35 * np.eye(d) + 0.06 * (A + A.T)
    w = _weights
    LMS = lambda a: w(_online(lambda x, e: a * e))  # noqa: E731
    KACZMARZ = lambda a, k=1: w(_online(lambda x, e: a * e / (x * x).sum(1), k))  # noqa: E731
    SIGN = w(_online(lambda x, e: 0.15 * np.sign(e)))
    clip = lambda f: lambda X, y, q: f(X, np.tanh(y / 2) * 2, q)  # noqa: E731
    few = max(d, n // 2)
    on: list[tuple[str, Callable[..., np.ndarray], str | None]] = [
        ("zero", lambda X, y, q: 0 * y[:, 0], "zero"),
        ("least squares", w(_exact), "least squares"),
        ("averaging 0.5", w(_descent(1, 0.5)), "averaging"),
        ("averaging 1", w(_descent(1, 1.0)), "averaging"),
        ("GD 3 × 0.3", w(_descent(3, 0.3)), "gradient descent"),
        ("GD 10 × 0.1", w(_descent(10, 0.1)), "gradient descent"),
        ("steps 0.2, 0.5", w(_free([0.2, 0.5])), "gradient descent, free steps"),
        ("steps .15 .4 .9", w(_free([0.15, 0.4, 0.9])), "gradient descent, free steps"),
        ("heavy ball 4", w(_descent(4, 0.3, 0.4)), "momentum"),
        ("heavy ball 8", w(_descent(8, 0.15, 0.5)), "momentum"),
        ("Nesterov 5", w(_nesterov(5, 0.2)), "Nesterov"),
        ("Nesterov 10", w(_nesterov(10, 0.2)), "Nesterov"),
        ("Chebyshev 4", w(_chebyshev(4, 0.2, 3.0)), "Chebyshev"),
        ("Chebyshev 6", w(_chebyshev(6, 0.1, 2.5)), "Chebyshev"),
        (
            "matrix, one step",
            w(_descent(1, 1.0, 0, A)),
            "gradient descent with a matrix",
        ),
        (
            "matrix, two steps",
            w(_descent(2, 1.0, 0, A)),
            "gradient descent with a matrix",
        ),
        ("GD++ 3", _gdpp(3, 0.3, 0.15), "GD++"),
        ("GD++ 4", _gdpp(4, 0.25, 0.1), "GD++"),
        ("Newton 4", w(_newton(4)), "Newton"),
        ("Newton 8", w(_newton(8)), "Newton"),
        ("flow 1", _each(_flow(1.0)), "gradient flow"),
        ("flow 5", _each(_flow(5.0)), "gradient flow"),
        ("ridge 0.05", w(_ridge(0.05)), "ridge"),
        ("ridge 0.5", w(_ridge(0.5)), "ridge"),
        ("relative ridge .02", w(_relative(0.02)), "ridge relative to tr S"),
        ("relative ridge .1", w(_relative(0.1)), "ridge relative to tr S"),
        ("cut-off 0.3", _each(_components(lambda v: v > 0.3)), "principal components"),
        ("cut-off 0.6", _each(_components(lambda v: v > 0.6)), "principal components"),
        (
            "2 components",
            _each(_components(lambda v: np.arange(len(v)) >= len(v) - 2)),
            "leading components",
        ),
        (
            "3 components",
            _each(_components(lambda v: np.arange(len(v)) >= len(v) - 3)),
            "leading components",
        ),
        (
            "½ ridge + ½ averaging",
            _mixed((0.5, w(_ridge(0.3))), (0.5, w(_descent(1, 1.0)))),
            "mixture of ridge and averaging",
        ),
        (
            ".7 LS + .3 averaging",
            _mixed((0.7, w(_exact)), (0.3, w(_descent(1, 1.0)))),
            "mixture of averaging and least squares",
        ),
        ("LMS 0.1", LMS(0.1), "LMS"),
        ("LMS 0.2", LMS(0.2), "LMS"),
        ("Kaczmarz 1", KACZMARZ(1.0), "normalised LMS"),
        ("Kaczmarz 0.5, twice", KACZMARZ(0.5, 2), "normalised LMS"),
        ("RLS 0.9", w(_recursive(0.9, 0.1)), "recursive least squares with forgetting"),
        ("RLS 0.8", w(_recursive(0.8, 1.0)), "recursive least squares with forgetting"),
        (
            "weighted ridge 0.9",
            w(lambda X, y: _faded_ridge(X, y, 0.9, 0.5)),
            "recursive least squares with forgetting",
        ),
        (
            "weighted ridge 0.7",
            w(lambda X, y: _faded_ridge(X, y, 0.7, 0.1)),
            "recursive least squares with forgetting",
        ),
        ("window 3", w(lambda X, y: _exact(X[:, -3:], y[:, -3:])), "sliding window"),
        (
            f"window {few}",
            w(lambda X, y: _exact(X[:, -few:], y[:, -few:])),
            "sliding window" if few < n else "least squares",
        ),
        ("last example", w(lambda X, y: _exact(X[:, -1:], y[:, -1:])), "last example"),
        ("last label", lambda X, y, q: y[:, -1], "last label"),
        ("decayed 0.8", w(_faded(0.8)), "averaging with forgetting"),
        ("decayed 0.95", w(_faded(0.95)), "averaging with forgetting"),
        ("conjugate gradients 2", _each(_krylov(2)), "conjugate gradients"),
        ("conjugate gradients 3", _each(_krylov(3)), "conjugate gradients"),
        ("evidence", _each(_evidence), "empirical Bayes"),
        ("Lasso 0.1", w(_lasso(0.1)), "Lasso"),
        ("Lasso 0.4", w(_lasso(0.4)), "Lasso"),
        ("relevance 0.01", _each(_relevance(0.01)), "sparse Bayes"),
        ("relevance 0.1", _each(_relevance(0.1)), "sparse Bayes"),
        ("Huber 0.3", w(_huber(0.3)), "Huber"),
        ("Huber 1", w(_huber(1.0)), "Huber"),
        ("pursuit 2", _each(_pursuit(2)), "matching pursuit"),
        ("pursuit 1", _each(_pursuit(1)), "matching pursuit"),
        (
            "attention 0.5",
            _attention(lambda X, q: 0.5 * np.einsum("bni,bi->bn", X, q)),
            "softmax attention",
        ),
        (
            "attention 1 × 0.7",
            _attention(lambda X, q: np.einsum("bni,bi->bn", X, q), 0.7),
            "softmax attention",
        ),
        ("Gaussian 1", _attention(lambda X, q: -_square(X, q) / 2), "Gaussian kernel"),
        ("Gaussian 2", _attention(lambda X, q: -_square(X, q) / 8), "Gaussian kernel"),
        ("kernel ridge 2", _kernel_ridge(2.0, 0.1), "kernel ridge"),
        ("kernel ridge 3", _kernel_ridge(3.0, 0.01), "kernel ridge"),
        ("3 neighbours", _nearest(3), "nearest neighbours"),
        ("copying", _nearest(1), "nearest neighbours"),
        (
            "switch at 8",
            lambda X, y, q: w(_descent(1, 0.6) if X.shape[1] < 8 else _exact)(X, y, q),
            "averaging" if n < 8 else "least squares",
        ),
        ("Anderson 4", _each(_anderson(4, 0.2)), None),
        ("Anderson 7", _each(_anderson(7, 0.3)), None),
        ("signed regressor", SIGN, None),
        (
            "signed inputs",
            w(lambda X, y: _online(lambda x, e: 0.1 * e)(np.sign(X), y)),
            None,
        ),
        ("trimmed 0.2", _each(_trimmed(0.2)), None),
        ("trimmed 0.4", _each(_trimmed(0.4)), None),
        ("lookup of 64", w(_lookup(d, 64)), None),
        ("posterior of 64", w(_lookup(d, 64, 0.5)), None),
        ("steepest descent 3", w(_steepest(3)), None),
        ("steepest descent 6", w(_steepest(6)), None),
        ("Adam 10", w(_adam(10, 0.2)), None),
        ("clipped labels", clip(w(_ridge(0.2))), None),
        ("averaged LMS", w(_averaged(0.2)), None),
        ("gated delta rule", w(_gated(0.2, 0.9)), None),
        ("shrunk by itself", w(_shrunk), None),
        ("exponentiated", w(_exponentiated), None),
        ("iterated ridge", _each(_iterated(0.3, 2)), None),
        ("ridge to the third", _each(_iterated(0.2, 3)), None),
        ("quadratic features", _quadratic, None),
        ("median of parts", _median_of_parts, None),
    ]
    return [Method(*one) for one in on]


def _faded_ridge(X, y, gamma, tau):
    weights = gamma ** np.arange(X.shape[1])[::-1]
    S = np.einsum("bni,n,bnj->bij", X, weights, X) + tau * np.eye(X.shape[2])
    return np.linalg.solve(S, np.einsum("bni,n,bn->bi", X, weights, y)[:, :, None])[
        :, :, 0
    ]


def kept(index: int) -> bool:
    """Methods that are shown to the probe only at the end."""
    return index % 2 == 1
