"""Numbers, durations, shares, sizes and counts for people."""

import numpy as np
import pytest

from iclab import show


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.13360842938, "0.133608"),
        (-1.9e-11, "−1.9×10⁻¹¹"),
        (1e20, "10²⁰"),
        (12, "12"),
        (3.0, "3"),
        (True, "True"),
        (None, ""),
        ("holds", "holds"),
        (float("inf"), "∞"),
        ("-inf", "−∞"),
        ("nan", "NaN"),
        (float("nan"), "NaN"),
        (np.float32(0.5), "0.5"),
        (np.arange(5), "[0, 1, 2, 3, …]"),
        ([[1.0, -2.0]], "[[1, −2]]"),
    ],
)
def test_numbers(value, expected):
    assert show.number(value) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.04, "0.0 s"),
        (9.9, "9.9 s"),
        (9.96, "10 s"),
        (75, "75 s"),
        (204, "3.4 min"),
        (7e3, "1.9 h"),
        (1.8e5, "2.1 d"),
    ],
)
def test_durations(seconds, expected):
    assert show.duration(seconds) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1e-7, "0"), (0.0004, "0.04 %"), (-0.25, "−25 %"), (0.998, "100 %"),
     (2.5, "250 %"), (812.0, "812 times"), (81_328.0, "81,328 times")],
)  # fmt: skip
def test_shares(value, expected):
    assert show.share(value) == expected


def test_errors_and_intervals():
    assert show.with_error(0.1336084, 0.00123) == "0.133608 ± 0.0012"
    assert show.with_interval(0.25, 0.2, 0.31) == "0.25 [0.2, 0.31]"


def test_sizes_and_counts():
    sizes = [show.size(n) for n in (1, 512, 14_200, 3_100_000, 2 * 10**9)]
    assert sizes == ["1 byte", "512 bytes", "14.2 kB", "3.1 MB", "2.0 GB"]
    assert [show.counted(n, "job") for n in (0, 1, 1200)] == [
        "0 jobs", "1 job", "1,200 jobs"
    ]  # fmt: skip
    assert show.of(12, 155) == "12 of 155"
    assert show.of(0, 1, "item") == "0 of 1 item"
