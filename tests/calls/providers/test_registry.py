import subprocess
import sys
from importlib import metadata

import pytest

from bonwise.calls.providers import protocol as registry
from bonwise.calls.providers.openai import OpenAI
from bonwise.errors import UsageError


@pytest.fixture
def plug_ins(monkeypatch):
    """Return a function that installs entry points beside the built-in ones."""

    def install(**values):
        real = metadata.entry_points(group=registry.GROUP)
        extra = [metadata.EntryPoint(name, value, registry.GROUP) for name, value in values.items()]
        monkeypatch.setattr(registry, "entry_points", lambda **_: [*real, *extra])
        registry.provider.cache_clear()

    yield install
    registry.provider.cache_clear()


class Lacking:
    """A plug-in that is not a provider."""

    name = "lacking"


class Failing:
    """A plug-in that cannot be made."""

    def __init__(self):
        raise RuntimeError("no luck\nwith key sk-abcdefgh12345678")


class Third(OpenAI):
    """A plug-in that keeps the contract."""

    name = "third"


def test_the_built_in_providers_come_through_the_door_of_plug_ins():
    """Both are found by name, nothing is wrong with them, and each is made once."""
    assert registry.known().items() >= {"openai": "", "anthropic": ""}.items()
    assert registry.provider("openai") is registry.provider("openai")
    assert registry.provider("anthropic").name == "anthropic"


def test_an_unknown_name_is_told_the_known_ones():
    """The error lists what is installed."""
    with pytest.raises(UsageError, match=r"no provider 'opnai' .the providers are anthropic, openai.$"):
        registry.provider("opnai")


def test_a_third_party_provider_is_as_good_as_a_built_in_one(plug_ins):
    """An entry point is all a plug-in needs."""
    plug_ins(third=f"{__name__}:Third")
    assert registry.provider("third").name == "third"


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ("no_such_module:Thing", "ModuleNotFoundError"),
        ("bonwise.calls.providers.openai:Nothing", "AttributeError"),
        (f"{__name__}:Failing", r"RuntimeError: no luck with key \[key\]"),
        (f"{__name__}:Lacking", "it lacks capabilities, request"),
    ],
)
def test_a_broken_plug_in_is_one_line(plug_ins, value, fault):
    """A plug-in that fails is named with its fault, harms no other, and shows no traceback or secret."""
    plug_ins(broken=value)
    with pytest.raises(UsageError, match=f"the plug-in behind provider 'broken' failed: .*{fault}") as caught:
        registry.provider("broken")
    assert value in caught.value.hint
    assert "\n" not in str(caught.value)
    assert caught.value.__context__ is None
    listing = registry.known()
    assert listing["broken"] == str(caught.value)
    assert listing["openai"] == ""


def test_two_plug_ins_of_one_name_are_never_chosen_between(plug_ins):
    """A second `openai` makes the name unusable until one of them goes; the other providers stay."""
    plug_ins(openai=f"{__name__}:Third")
    with pytest.raises(UsageError, match="two plug-ins call themselves 'openai'"):
        registry.provider("openai")
    assert registry.known()["anthropic"] == ""


def test_listing_providers_imports_no_sdk():
    """Requests can be built and providers listed before an SDK is loaded."""
    code = (
        "import sys; from bonwise.calls.providers.protocol import known, provider; known();"
        "from bonwise.calls.ask import Ask, Model;"
        "[provider(n).request(Ask(Model(n, 'm'), '', 'u', read=str), 1, frozenset()) for n in known()];"
        "print(*known(), *{'openai', 'anthropic', 'httpx', 'httpx2', 'pydantic', 'numpy'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["anthropic", "openai"]  # the providers' own names, and no module
