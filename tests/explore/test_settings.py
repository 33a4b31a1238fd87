"""Links, which may come from anybody."""

import dataclasses

import pytest

from iclab.explore import PAGES, UnknownPage, find_page
from iclab.explore._claims import Moved
from iclab.explore._depth import Depth
from iclab.explore._gpt2 import Gpt2
from iclab.explore._one_layer import OneLayer
from iclab.explore._representation import Attention

ALL = {
    "one-layer": OneLayer,
    "depth": Depth,
    "representation": Attention,
    "gpt2": Gpt2,
    "claims": Moved,
}


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
    (name,) = (name for name, kind in ALL.items() if kind is type(settings))
    page, query = find_page(settings.link(name))
    assert page is not None
    assert page.name == name
    from urllib.parse import parse_qs

    found, said = type(settings).from_query(parse_qs(query))
    assert found == settings
    assert said == []


@pytest.mark.parametrize("kind", ALL.values(), ids=ALL)
@pytest.mark.parametrize(
    "word", ["", "nan", "inf", "1e999", "-5", "x", "1,2,nan", "<b>", "9" * 50]
)
def test_nonsense_in_a_link_gives_settings_in_their_range(kind, word):
    names = [field.name for field in dataclasses.fields(kind)]
    settings, _ = kind.from_query(dict.fromkeys(names, word))
    for field in dataclasses.fields(kind):
        value, limits = getattr(settings, field.name), field.metadata
        assert isinstance(value, type(field.default))
        if "among" in limits:
            assert value in limits["among"]
        elif "low" in limits:
            values = value if isinstance(value, tuple) else (value,)
            assert all(limits["low"] <= one <= limits["high"] for one in values)
            assert len(values) <= limits.get("most", 1)


def test_what_is_not_taken_is_said():
    query = {"noise_std": "7", "context_length": "many", "spectrum": "1," * 20}
    settings, said = OneLayer.from_query(query)
    assert settings.noise_std == 2.0
    assert settings.context_length == 20
    assert settings.spectrum == (1.0,) * 8
    assert said == [
        "spectrum: the first 8 were taken",
        "context_length: not understood, so it is 20",
        "noise_std: 7 became 2",
    ]


def test_pages_have_names_and_files():
    assert [page.name for page in PAGES] == list(ALL)
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
