"""Links, which may come from anybody."""

import dataclasses
from typing import get_args
from urllib.parse import parse_qs

import pytest

from iclab.explore import PAGES, UnknownPage, find_page
from iclab.explore._claims import Moved
from iclab.explore._depth import Depth
from iclab.explore._gpt2 import MODELS, Gpt2
from iclab.explore._one_layer import OneLayer
from iclab.explore._representation import OPTIMISERS, Attention
from iclab.explore._settings import Limits

KINDS = (OneLayer, Depth, Attention, Gpt2, Moved)


@pytest.mark.parametrize(
    "settings",
    [
        OneLayer(),
        OneLayer((1.0, 0.25), 7, 0.15, (0.5, 0.02), task=(3.0, 3.0)),
        Depth(dimension=3, noise_std=0.35),
        Attention(tau=0.31, optimiser="gradient descent"),
        Gpt2(space="plane", plane=(0.5, -1.25, 1.0), w1=-0.3),
        Moved("ahn2023/theorem-1", "d=1, n=5", "samples:4", 3),
    ],
)
def test_a_link_keeps_the_settings(settings):
    page, query = find_page(settings.link())
    assert page is not None
    assert page.name == settings.page
    found, said = type(settings).from_query(parse_qs(query))
    assert found == settings
    assert said == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "word", ["", "nan", "inf", "1e999", "-5", "x", "1,2,nan", "<b>", "9" * 50, "0x1"]
)
def test_nonsense_in_a_link_gives_settings_in_their_range(kind, word):
    names = [field.name for field in dataclasses.fields(kind)]
    settings, said = kind.from_query(dict.fromkeys(names, word))
    for sentence in said:
        assert sentence.startswith("`")
        assert " must be " in sentence
        assert sentence.endswith(" used")
    for field in dataclasses.fields(kind):
        value = getattr(settings, field.name)
        assert isinstance(value, type(field.default))
        for rule in get_args(field.type):
            if isinstance(rule, Limits):
                values = value if isinstance(value, tuple) else (value,)
                assert all(rule.low <= one <= rule.high for one in values)
                assert len(values) <= rule.most
    # What is one of several words stays so.
    assert getattr(settings, "model", MODELS[0]) in MODELS
    assert getattr(settings, "space", "line") in ("line", "plane")
    assert getattr(settings, "optimiser", "adam") in OPTIMISERS


def test_what_is_not_taken_is_said():
    query = {"noise_std": "7", "context_length": "many", "spectrum": "1," * 20}
    settings, said = OneLayer.from_query(query)
    assert settings.noise_std == 2.0
    assert settings.context_length == 20
    assert settings.spectrum == (1.0,) * 8
    assert said == [
        "`spectrum` must be at most 8 numbers, got 20: the first 8 are used",
        "`context_length` must be an integer, got 'many': 20 is used",
        "`noise_std` must be from 0 to 2, got 7: 2 is used",
    ]
    _, said = Gpt2.from_query({"space": "<b>"})
    assert said == ["`space` must be 'line' or 'plane', got '<b>': line is used"]


def test_what_a_link_says_is_quoted_and_not_run():
    pytest.importorskip("marimo", reason="needs iclab[explore]")
    from iclab.explore import _page

    _, said = Gpt2.from_query({"space": "<img src=x onerror=alert(1)>"})
    shown = _page.complaints(said)
    assert shown is not None
    assert "<img" not in shown.text


def test_pages_have_names_and_files():
    assert [page.name for page in PAGES] == [kind.page for kind in KINDS]
    for page in PAGES:
        assert page.file.is_file()
        assert find_page(page.name) == (page, "")
        address = f"http://127.0.0.1:2771/{page.name}/?seed=3&token=x"
        assert find_page(address) == (page, "seed=3&token=x")
    assert find_page("") == (None, "")


def test_unknown_pages():
    with pytest.raises(UnknownPage, match=r"unknown page 'gpt': did you mean gpt2\?"):
        find_page("gpt")
    with pytest.raises(UnknownPage, match="there are one-layer, depth, rep"):
        find_page("zzz")
