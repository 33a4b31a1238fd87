"""The verdict: which kind, then which family, and whether it is that or only near."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from iclab.core import AbstractPredictor, Prompt, checked, named_predictors
from iclab.probes._bayes import bayes_predictions
from iclab.probes._bootstrap import Interval, bootstrap_weights, bounds, ratio
from iclab.probes._families import Family, Row, rows_for
from iclab.probes._filter import context_of, fit_filter
from iclab.probes._fit import Member, fit, with_intervals
from iclab.probes._kinds import (
    CALLS,
    Ask,
    KindTest,
    asking,
    changes,
    sizes_of,
    tested,
)
from iclab.probes._spectra import Sample
from iclab.tasks import AbstractTask, LinearRegression

# Of E ŷ²: how near a family must be for *is*; how much of the model, at least, may be
# of another kind for *closest to*; how near is worth a name at all.
RESOLUTION, KIND, NAMED = 1e-3, 0.01, 0.05
# Differences below this share are round-off of somebody's arithmetic.
ROUND_OFF = 1e-9
# Prompts for the tests, and families that are looked at closely.
TESTS, _LOOKED_AT = 512, 12
# A rest is no noise if something else explains so much of it.
_EXPLAINED = 0.1


@checked(finite=False)
@dataclass(frozen=True)
class FamilyFit:
    """The member of a family that is closest to a model.

    `distance` is E(ŷ − its prediction)² / E ŷ² on prompts that it was not fitted to,
    `intervals` hold 90 % of bootstrap draws, and `excluded` names the tests that the
    model fails and this member passes, or the other way round: such a family is not
    named (None: too far away to be asked).
    """

    name: str
    branch: str
    metric: str
    parameters: Mapping[str, Any]
    intervals: Mapping[str, Any]
    distance: Interval
    excluded: tuple[str, ...] | None
    member: Member


@checked(finite=False)
@dataclass(frozen=True)
class Verdict:
    """What a model is with prompts of one length.

    `verdict` is "is" (all of the distance's interval is below `resolution`, no test
    tells the two apart, nothing else explains what is left), "closest" (the tests
    leave this family, it is nearest, and it is another function) or "none". `fit` is
    the family meant; with "none" it is None. `close` are others that cannot be told
    from it, `fits` all families by distance, and `rest` what explains what is left.
    """

    verdict: str
    fit: FamilyFit | None
    close: tuple[str, ...]
    fits: tuple[FamilyFit, ...]
    tests: tuple[KindTest, ...]
    rest: str | None
    bayes: str | None
    resolution: float

    @property
    def name(self) -> str:
        """The family's name, or "none"."""
        return "none" if self.fit is None else self.fit.name

    @property
    def broken(self) -> tuple[str, ...]:
        """Tests that the model fails significantly."""
        return tuple(one.name for one in self.tests if one.broken)


@checked(finite=False)
def judge(
    predictor: AbstractPredictor,
    prompts: Prompt,
    *,
    context: int | None = None,
    task: AbstractTask | None = None,
    families: Sequence[Any] = (),
    against: Mapping[str, AbstractPredictor] | None = None,
    resolution: float = RESOLUTION,
    key: PRNGKeyArray | None = None,
) -> Verdict:
    """Say what a model is on `prompts` of the law `task` (x ~ N(0, I) by default).

    Tests say what kind of method it is, then families of that kind, your own and the
    rivals in `against` are fitted on half of the prompts and compared on the other.

    ```python
    found = judge(Ridge(0.5), task.sample_batch(key, 2048, 20), task=task)
    found.verdict, found.name, found.fit.distance
    ```
    """
    sample = Sample.of(prompts, context_of(prompts, context))
    if task is None:
        import jax.numpy as jnp

        task = LinearRegression(jnp.eye(sample.query.shape[1]))
    others = named_predictors(against or {}, "against")
    rivals = [rival(name, one) for name, one in others.items()]
    rivals += [Family.of(one).row() for one in families]
    key = jax.random.key(0) if key is None else key
    return verdict_of(asking(predictor), sample, task, rivals, resolution, key)


def rival(name: str, predictor: AbstractPredictor) -> Row:
    """Another predictor as a row of the table."""
    return Row(name, "as asked for", asking(predictor))


def verdict_of(
    ask: Ask,
    sample: Sample,
    task: AbstractTask,
    rivals: Sequence[Row],
    resolution: float,
    key: PRNGKeyArray,
    answers: Float[np.ndarray, " prompts"] | None = None,
) -> Verdict:
    """The verdict on answers of `ask`."""
    if answers is None:
        answers = ask(sample)
    keys = jax.random.split(key, 4)
    changed = changes(sample[-TESTS:], task, keys[0])
    tests, told = tested(ask, changed, keys[1])
    rows, bayes = _rows(sample, task, tests, rivals)
    half = len(answers) // 2
    train, test = sample[:half], sample[half:]
    sizes = sizes_of(answers)
    left, right = answers[half:], sizes[half:]
    power = (left * right) ** 2
    mean = float(np.mean(power))
    units = _units(sample)
    for_train = bootstrap_weights(keys[2], half)
    for_test = bootstrap_weights(keys[3], len(left))
    members = []
    for row in rows:
        found = [
            (member, how, (right * (left - predicted)) ** 2)
            for member, how in fit(row, train, answers[:half], sizes[:half], units)
            if np.all(np.isfinite(predicted := member.predict(test)))
        ]
        if found:
            members.append((*min(found, key=lambda one: np.mean(one[2])), found))
    members.sort(key=lambda one: float(np.mean(one[2])))
    power_of_tests = (sizes_of(told["plain"]) * told["plain"]) ** 2
    gaps = changed.differences(told)

    def excluded(member: Member) -> dict[str, float]:
        """Tests that tell member and model apart, with what they show."""
        own = changed.differences(changed.answers(member.predict))
        weights = bootstrap_weights(keys[1], len(power_of_tests), 200)
        found, scale = {}, sizes_of(told["plain"])
        for one in tests:
            gap = (scale * (gaps[one.name] - own[one.name])) ** 2
            lower = ratio(gap, power_of_tests, weights).lower
            if lower > one.band:
                found[one.name] = lower
        return found

    # A test excludes a family where it alone keeps it this far away.
    shown: list[dict[str, float]] = []
    kinds: list[tuple[str, ...]] = []
    for i, (member, _, errors, _) in enumerate(members):
        far = float(np.mean(errors)) > NAMED * mean
        if i >= _LOOKED_AT and (far or () in kinds):
            break
        shown.append(excluded(member))
        kinds.append(tuple(t for t, v in shown[-1].items() if v / 2 > KIND))
    open_ = [i for i, one in enumerate(kinds) if not one]
    chosen, close = None, []
    if open_:
        best = members[open_[0]][2]

        def near(i: int) -> bool:
            gap = members[i][2] - best
            draws = for_test @ gap / len(gap)
            return bool(bounds(draws)[0] <= ROUND_OFF * mean)

        within = [i for i in open_ if near(i)]
        chosen = min(
            within,
            key=lambda i: (members[i][0].row.size, rows.index(members[i][0].row)),
        )
        # What contains an exact member is no rival of it.
        exact = np.mean(members[chosen][2]) <= ROUND_OFF * mean
        most = members[chosen][0].row.size if exact else np.inf
        close = [i for i in within if i != chosen and members[i][0].row.size <= most]
    fits = []
    for i, (member, how, errors, found) in enumerate(members):
        if i == chosen:
            peers = [(one, error) for one, _, error in found]
            member = with_intervals(member, how, for_train, peers, for_test)
        tests_of = kinds[i] if i < len(kinds) else None
        fits.append(_fit(member, ratio(errors, power, for_test), tests_of))
    word, rest, fit_ = "none", None, None
    if chosen is not None and (
        fits[chosen].distance.value <= NAMED or fits[chosen].branch == "as asked for"
    ):
        fit_ = fits[chosen]
        word = "closest"
        if fit_.distance.upper < resolution and not shown[chosen]:
            rest = None
            if fit_.distance.value > max(ROUND_OFF, tests[0].band):
                rest = _explained(sample, answers, sizes, members, chosen, for_test)
            word = "is" if rest is None else "closest"
    named = tuple(_label(fits[i]) for i in close)
    order = sorted(
        range(len(fits)), key=lambda i: (i != chosen, fits[i].distance.value)
    )
    by_name = {}
    for i in order:
        by_name.setdefault((fits[i].name, fits[i].metric), fits[i])
    if fit_ is None:
        named = ()
    own = {_label(fit_)} if fit_ is not None else set()
    named = tuple(dict.fromkeys(n for n in named if n not in own))
    return Verdict(
        word, fit_, named, tuple(by_name.values()), tests, rest, bayes, resolution
    )


def _label(fit: FamilyFit) -> str:
    return fit.name if fit.metric == "inputs" else f"{fit.name} ({fit.metric})"


def _fit(
    member: Member, distance: Interval, excluded: tuple[str, ...] | None
) -> FamilyFit:
    row = member.row
    return FamilyFit(
        row.name,
        row.branch,
        row.metric,
        member.parameters,
        member.intervals,
        distance,
        excluded,
        member,
    )


def _explained(sample, answers, sizes, members, chosen: int, weights) -> str | None:
    """What explains a good part of what a family leaves, on prompts not fitted to."""
    half = len(answers) // 2
    first, second = slice(0, half), slice(half, None)
    own = members[chosen][0].predict(sample)
    left = sizes * (answers - own)
    total = left[second] ** 2

    def earns(columns) -> bool:
        c = np.linalg.lstsq(columns[first], left[first], rcond=None)[0]
        gain = total - (left[second] - columns[second] @ c) ** 2
        return ratio(gain, total, weights).lower > _EXPLAINED

    for i, (member, *_) in enumerate(members[:_LOOKED_AT]):
        gap = sizes * (member.predict(sample) - own)
        if i != chosen and np.all(np.isfinite(gap)) and earns(gap[:, None]):
            return member.row.name
    spectra = sample.spectra.scaled(sizes)
    curve = fit_filter(
        type(spectra)(spectra.eigenvalues[first], spectra.parts[first]),
        left[first],
        weights[:2, :half] * 0 + 1,
    )
    h = np.interp(
        np.log(np.maximum(spectra.eigenvalues, 1e-300)),
        np.log(curve.eigenvalues),
        curve.value,
    )
    return "another filter" if earns(spectra.predictions(h)[:, None]) else None


def _units(sample: Sample) -> tuple[float, float]:
    """The inputs' typical largest eigenvalue, and the labels' deviation."""
    top = float(np.median(sample.spectra.eigenvalues[:, -1])) or 1.0
    return top, float(np.std(sample.labels)) or 1.0


def _rows(
    sample: Sample,
    task: AbstractTask,
    tests: Sequence[KindTest],
    rivals: Sequence[Row],
) -> tuple[list[Row], str | None]:
    """Rows of the branches that the tests call for, and what the Bayes rule is."""
    n, d = sample.examples.shape[1:]
    called = {"spectral"}
    for one in tests:
        if one.broken:
            called |= set(CALLS[one.name])
    if "rotation" not in {one.name for one in tests}:
        called.add("matrix")
    rows = [one for one in rows_for(n, d) if one.branch in called]
    root = whitening(task)
    if root is not None:
        rows += [
            replace(
                one,
                metric="whitened",
                predict=lambda s, one=one, **p: one.predict(s.under(root), **p),
            )
            for one in rows
            if one.branch == "spectral" and one.size
        ]
    rule = bayes_predictions(task, sample.moments)
    bayes = None
    if rule is not None:
        gap = np.mean((rule - sample.spectra.least_squares()) ** 2)
        bayes = "least squares" if gap <= ROUND_OFF * np.mean(rule**2) else "Bayes rule"
    if bayes == "Bayes rule":

        def predict(s: Sample) -> Float[np.ndarray, " prompts"]:
            found = bayes_predictions(task, s.moments)
            assert found is not None
            return found

        rows.append(Row("Bayes rule", "spectral", predict))
    return [*rivals, *rows], bayes


def whitening(task: AbstractTask | None) -> Float[np.ndarray, "d d"] | None:
    """Λ^{−½} of a task with one covariance that is not a multiple of the identity."""
    covariance = getattr(task, "covariance", None)
    if covariance is None:
        return None
    values, vectors = np.linalg.eigh(np.asarray(covariance, float))
    round_ = values[-1] - values[0] <= 1e-9 * values[-1]
    if round_ or values[0] <= 1e-9 * values[-1]:
        return None
    return (vectors / np.sqrt(values)) @ vectors.T
