"""The package: its names, its errors, its extras."""

from __future__ import annotations

import ast
import asyncio
import doctest
import importlib
import importlib.abc
import inspect
import itertools
import json
import os
import pkgutil
import re
import subprocess
import sys
import tomllib
from importlib import metadata, resources
from pathlib import Path

import pytest

import bonwise as bw
from bonwise import errors
from bonwise.declared import public_homes, result_homes
from bonwise.errors import BonwiseError, MissingExtraError
from bonwise.extras import BOOTSTRAP, EXCEL, PAGES, TABLES, TORCH, TREES, Feature
from bonwise.hosts import HOSTS
from bonwise.testing import simulate, simulate_ratings
from judges.described_model import described_judge

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "bonwise"
FILES = sorted(SOURCE.rglob("*.py"))
HOSTED = {f"bonwise.hosts.{name}" for name, feature in HOSTS.items() if feature.missing()}
"""Modules of frameworks that are not installed here: `benchmarks/hosts.py` tests each where it is."""

BY_TORCH = {"bonwise.factors.torch_stage_one"} if TORCH.missing() else set()
"""Its tests run with ``-m torch``."""

MODULES = sorted(
    {"bonwise", *(found.name for found in pkgutil.walk_packages(bw.__path__, "bonwise."))} - HOSTED - BY_TORCH
)
"""One test looks at all of them: a test of each would be a thousand tests, each collected by every worker."""

SCRIPTS = Path(sys.executable).parent

SLOW_TO_IMPORT = {"openai", "anthropic", "scipy", "pandas", "sklearn", "matplotlib", "numpy", "pyarrow"}
COMMAND_LINE = {"rich", "typer"}
LIST_MODULES = "import json, sys; print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
DRAWERS = {"utils", "util", "helpers", "helper", "common", "core", "base", "manager", "misc"}


def loaded_after(statement):
    """Return the top-level packages that a fresh interpreter holds after a statement."""
    code = f"import contextlib, io\n{statement}\n{LIST_MODULES}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def parsed(path):
    """Parse one source file."""
    return ast.parse(path.read_text("utf-8"))


def test_import_loads_nothing_heavy():
    """Importing the package in a fresh process loads no numeric library, no client and no command line."""
    assert loaded_after("import bonwise").isdisjoint(SLOW_TO_IMPORT | COMMAND_LINE)


def test_help_loads_nothing_heavy():
    """Showing the help in a fresh process loads no numeric library and no client."""
    shown = (
        "from bonwise.cli.entry import run\n"
        "with contextlib.redirect_stdout(io.StringIO()) as out:\n"
        "    assert run(['--help']) == 0\n"
        "assert 'Usage' in out.getvalue()"
    )
    assert loaded_after(shown).isdisjoint(SLOW_TO_IMPORT)


def test_public_names_resolve():
    """Each public name is there, and dir() lists exactly the public names."""
    assert all(getattr(bw, name) is not None for name in bw.__all__)
    assert dir(bw) == sorted(bw.__all__)
    assert len(set(bw.__all__)) == len(bw.__all__)


def test_an_unknown_name_is_an_attribute_error():
    """A name that is not public is an AttributeError that tells it."""
    with pytest.raises(AttributeError, match="no attribute 'selekt'"):
        _ = bw.selekt


def test_no_room_shadows_a_verb(filter_warnings):
    """After every sub-module was imported the public verbs are still functions, in a fresh process."""
    code = (
        f"{filter_warnings}import importlib\nfor name in {[name for name in MODULES if name != 'bonwise']}:\n"
        "    importlib.import_module(name)\n"
        "import bonwise as bw\n"
        "for verb in ('select', 'audit', 'audit_preferences'):\n"
        "    assert type(getattr(bw, verb)).__name__ == 'function', verb\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_no_room_has_the_name_of_a_public_one():
    """No sub-package or module directly under the package is called like a public name."""
    rooms = {found.name for found in pkgutil.iter_modules(bw.__path__)}
    assert rooms.isdisjoint(bw.__all__)


def test_a_class_has_a_name_of_its_own():
    """No two classes of the package have the same name, private ones included: a search finds one of them."""
    named = {}
    for path in FILES:
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef):
                named.setdefault(node.name.lstrip("_"), []).append(f"{path.relative_to(SOURCE)}:{node.lineno}")
    assert {name: places for name, places in named.items() if len(places) > 1} == {}


def test_the_types_are_shipped():
    """The marker that tells type checkers to read the annotations is installed with the package."""
    assert resources.files("bonwise").joinpath("py.typed").is_file()


def typed_names(package):
    """Return the names that type checkers alone import into a package, each with its module."""
    folder = SOURCE.joinpath(*package.split(".")[1:])
    block = next(node for node in parsed(folder / "__init__.py").body if isinstance(node, ast.If))
    return {alias.asname: found.module for found in block.body for alias in found.names}


def test_a_class_of_results_is_exported_by_its_feature_alone():
    """It is there, for type checkers too, and ``bonwise`` itself has no such name but says where it is."""
    packages = result_homes()
    assert len(packages) == 30
    assert not set(packages) & set(bw.__all__)
    for name, package in packages.items():
        feature = importlib.import_module(package)
        assert getattr(feature, name).__module__ == typed_names(package)[name]
        assert name in dir(feature)
        with pytest.raises(AttributeError, match=f"has no attribute '{name}': it is {package}.{name}$"):
            getattr(bw, name)
    with pytest.raises(AttributeError, match=r"module 'bonwise\.watching' has no attribute 'Wach'"):
        _ = importlib.import_module("bonwise.watching").Wach


MADE = {
    "DrawModel": lambda: bw.ValueOfInformation().learnt,
    "FunctionJudge": lambda: bw.FunctionJudge(judged),
    "Knockout": bw.Knockout,
    "Greedy": bw.Greedy,
    "LabelDesign": lambda: bw.draw_labels(simulate("arena", n=20, seed=1).frame(), labels=5, seed=1).design,
    "Pool": lambda: bw.Pool("a", "q", (bw.Candidate("a", "b"),)),
    "Preference": lambda: bw.Preference(0, 1, 1.0, None),
    "RatingTable": lambda: bw.RatingTable.read(simulate_ratings(1, prompts=20).frame(), human="human"),
    "Rerank": lambda: bw.Rerank("cohere/m"),
    "Reward": described_judge,
    "Router": lambda: bw.Router(strong=judged),
    "Scale": lambda: bw.Scale(1, 5),
    "Score": lambda: bw.Score(0.5),
    "ScoreTable": lambda: bw.ScoreTable.from_frame(simulate("arena", n=20, seed=1).frame()),
    "Selection": lambda: bw.select("q", ["a", "bb"], judge=judged),
    "Selector": lambda: bw.Selector(judged, router=bw.Router(strong=judged), deadline=2, ledger="a.sqlite"),
    "Stop": bw.Stop,
    "Unscored": lambda: bw.Unscored("why"),
    "Verified": lambda: bw.Verified(judged, regex="a"),
    "WeightedMajority": lambda: bw.WeightedMajority(judged),
    "Candidate": lambda: bw.Candidate("a", "b"),
}


def judged(prompt, text):
    """Judge by length."""
    return len(text)


def made(name):
    """Return an object of a public class."""
    kind = getattr(bw, name)
    if name in MADE:
        return MADE[name]()
    if issubclass(kind, Exception):
        return kind("what went wrong")
    if name in {"Quantized", "Resampled", "TieBreak"}:
        return kind(judged)
    if name == "Jury":
        return kind([judged, "local:length"])
    return kind("openai/m") if hasattr(kind, "asks") else kind()


def classes():
    """Return the public classes that a person makes objects of."""
    named = [name for name in bw.__all__ if isinstance(getattr(bw, name), type)]
    return [name for name in named if name not in {"Judge", "Strategy", "Stack"}]


@pytest.mark.parametrize("name", classes())
def test_an_object_says_what_it_is(name):
    """Its ``repr`` is one short line that begins with the class, and holds no address in memory."""
    text = repr(made(name))
    assert re.match(rf"<?{name}\b", text)
    assert not re.search(r" at 0x|\n", text)
    assert len(text) < 500


def test_a_selector_says_who_judges_and_how():
    """Settings that limit it stand there; a path or an address does not."""
    said = "<Selector of judged by greedy, router interval_width at a share of 25%, deadline=2>"
    assert repr(MADE["Selector"]()) == said


VALUES = {"Candidate", "LabelDesign", "Pool", "Preference", "Score", "ScoreTable", "Selection", "Unscored"}
"""Made for every candidate, or read from files: Python itself refuses what they do not take."""


def done(taking, **keywords):
    """Call a function, and wait for what is asynchronous."""
    result = taking(**keywords)
    return asyncio.run(result) if inspect.iscoroutine(result) else result


@pytest.mark.parametrize("name", [name for name in bw.__all__ if callable(getattr(bw, name))])
def test_a_keyword_that_is_none_is_refused_with_the_nearest_one(name):
    """Of every public function and class of which a person makes objects, one letter of a keyword left out."""
    taking = getattr(bw, name)
    parameters = inspect.signature(taking).parameters
    named = [one.name for one in parameters.values() if one.kind in (one.KEYWORD_ONLY, one.POSITIONAL_OR_KEYWORD)]
    free = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    if free or not named or name in VALUES or (isinstance(taking, type) and issubclass(taking, Exception)):
        pytest.skip("takes any keyword, none, or is refused by Python")
    known = max(named, key=len)
    with pytest.raises(TypeError, match=rf"unexpected keyword argument '{known[:-1]}'; did you mean '\w+'\?"):
        done(taking, **{known[:-1]: None})


def test_the_lazy_table_is_what_type_checkers_see():
    """The imports for type checkers are of names that packages declare public, from the same places."""
    seen = typed_names("bonwise")
    assert seen == dict(public_homes())
    assert set(bw.__all__) == {*seen, "__version__"}


def test_the_version_is_that_of_the_distribution():
    """The package says the version under which it is installed."""
    assert bw.__version__ == metadata.version("bonwise")


def test_the_exception_tree_is_drawn_as_it_is():
    """The tree in the docstring names every exception class under its parent, and no other."""
    drawn, path = {}, {}
    for line in re.findall(r"^ {4}[│├└ ─]*\w+.*$", errors.__doc__, re.MULTILINE):
        depth, name = re.search(r"[A-Z]", line).start() // 4, re.search(r"\w+", line.lstrip("│├└ ─"))[0]
        drawn[name] = path.get(depth - 1)
        path[depth] = name
    classes = {c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, Exception)}
    real = {c.__name__: c.__base__.__name__ if c.__base__ is not Exception else None for c in classes}
    assert drawn == real
    assert set(errors.__all__) == set(real)


def test_doctests_hold():
    """Every example in a docstring gives what it says, without a warning."""
    assert [name for name in MODULES if doctest.testmod(importlib.import_module(name)).failed] == []


def test_examples_of_internal_names_hold():
    """Every example in the files of examples gives what it says, among the names of its module."""
    failed, run = [], doctest.DocTestRunner(verbose=False)
    for file in sorted((ROOT / "tests" / "examples").glob("*.txt")):
        _, *parts = re.split(r"^(bonwise[\w.]*):([\w.]+)$", file.read_text("utf-8"), flags=re.MULTILINE)
        assert parts, file
        for module, name, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
            names = {**vars(importlib.import_module(module)), "__name__": "__main__"}
            example = doctest.DocTestParser().get_doctest(text, names, f"{module}:{name}", file.name, 0)
            assert example.examples, name
            if run.run(example).failed:
                failed.append(example.name)
    assert failed == []


def test_import_contracts_hold(tmp_path):
    """The stated import contracts are kept by the code."""
    pytest.importorskip("importlinter")
    done = subprocess.run(
        [SCRIPTS / "lint-imports", "--config", ROOT / "pyproject.toml", "--no-cache"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_room_stands_in_the_layers():
    """The layered contract names each package folder once, and nothing that is not there."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    layered = next(contract for contract in contracts if contract["type"] == "layers")
    named = [room.strip("() ") for layer in layered["layers"] for room in re.split(r"[|:]", layer)]
    assert sorted(named) == sorted(found.name for found in pkgutil.iter_modules(bw.__path__))


def functions():
    """Yield every function of the source with the number of lines of its body, those of the docstring left out."""
    for file in FILES:
        for node in ast.walk(parsed(file)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                # Parameters and docstring are declarations: a command has one parameter a flag.
                first, told = node.body[0], ast.get_docstring(node) is not None
                said = first.end_lineno if told else first.lineno - 1
                yield f"{file.relative_to(SOURCE)}:{node.name}", node.end_lineno - said


def test_functions_are_short():
    """No function is longer than 60 lines, and nine of ten have at most 35."""
    lengths = dict(functions())
    longest = {name: lines for name, lines in lengths.items() if lines > 60}
    assert not longest
    assert sorted(lengths.values())[int(0.9 * len(lengths))] <= 35


def test_no_module_is_a_drawer():
    """No module has a name under which anything could be put."""
    assert DRAWERS.isdisjoint(itertools.chain.from_iterable(name.split(".") for name in MODULES))


def test_every_module_says_what_it_is():
    """Each module has a docstring; those that users import by their path state ``__all__`` too."""
    for file in FILES:
        assert ast.get_docstring(parsed(file)), file
        by_path = file.name in {"errors.py", "scale.py"} or file.parent.name in {"hosts", "testing"}
        states = "\n__all__ = [" in file.read_text("utf-8")
        assert file.name == "__init__.py" or states == by_path, file


def test_stated_names_exist():
    """Whatever a module lists in ``__all__`` is in it."""
    modules = [importlib.import_module(name) for name in MODULES]
    stated = [(module, name) for module in modules for name in getattr(module, "__all__", ())]
    assert [(module.__name__, name) for module, name in stated if not hasattr(module, name)] == []


def test_the_installed_command_runs():
    """The command that the installation made is this package's command line."""
    done = subprocess.run(
        [SCRIPTS / "bonwise", "--version"], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stdout == f"bonwise {bw.__version__}\n"


def test_a_folder_is_a_feature_by_what_it_declares(tmp_path):
    """Its public names, its command with the flags of its function and its document are there; no list names it."""
    folder = tmp_path / "surveying"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        'DOCUMENTS = {"survey": ("result:Survey", "")}\nPUBLIC = {"front": ("survey",)}\n'
        'COMMANDS = {"survey": (515, "front:COMMAND")}\n'
    )
    (folder / "front.py").write_text(
        "from __future__ import annotations\nfrom typing import Annotated\n"
        "from bonwise.flags import Command, Flag\n\n"
        'def survey(*, depth: Annotated[int, Flag("How deep.")] = 2) -> int:\n    return depth\n\n'
        'COMMAND = Command(survey, "Survey the ground.")\n'
    )
    code = (
        f"import bonwise as bw\nbw.__path__.append({str(tmp_path)!r})\n"
        "from bonwise.cli.entry import run\nfrom bonwise.declared import words\n"
        "assert bw.survey(depth=3) == 3 and 'survey' in bw.__all__ and 'survey' in words()\n"
        "assert run(['--help']) == run(['survey', '--help']) == 0\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert re.search(r"watch .*\n *survey +Survey the ground\.\n", done.stdout)
    assert re.search(r"--depth \S+ +How deep\. +\[default: 2\]", done.stdout)


DISTRIBUTIONS = {"python_calamine": "python-calamine", "sklearn": "scikit-learn"}


@pytest.mark.parametrize(
    ("modules", "said"),
    [
        (("json", "absent_a"), "absent_a is not installed"),
        (("absent_a", "json", "absent_b"), "absent_a and absent_b are not installed"),
        (("absent_a", "absent_b", "absent_c"), "absent_a, absent_b and absent_c are not installed"),
    ],
)
def test_a_missing_module_is_one_error_with_the_line_to_type(modules, said):
    """The message says what was asked for, which extra it needs and what is missing; the hint is the line to type."""
    with pytest.raises(MissingExtraError) as caught:
        Feature(modules, "audit").require("reading scores.csv")
    assert caught.value.message == f"reading scores.csv needs bonwise[audit]: {said}"
    assert caught.value.hint == "pip install 'bonwise[audit]'"
    assert isinstance(caught.value, BonwiseError)
    assert not isinstance(caught.value, ImportError)


def test_finding_out_imports_nothing():
    """A module that is installed is asked for without being loaded."""
    name = next(one for one in ("turtle", "imaplib", "xmlrpc") if one not in sys.modules)
    Feature((name,)).require("this")
    assert name not in sys.modules


def test_a_forbidden_module_counts_as_missing(monkeypatch):
    """An import hook that refuses a module leaves it missing, and its error unseen."""

    class Refusing(importlib.abc.MetaPathFinder):
        def find_spec(self, fullname, *_):
            if fullname == "forbidden_module":
                raise ModuleNotFoundError(fullname)

    monkeypatch.setattr(sys, "meta_path", [Refusing(), *sys.meta_path])
    assert Feature(("forbidden_module",)).missing() == ("forbidden_module",)


def test_the_features_need_what_the_extra_brings():
    """The modules of features are those that their extra of the distribution installs, and no others."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for extra, features in {"audit": (TABLES, PAGES, BOOTSTRAP), "excel": (EXCEL,), "trees": (TREES,)}.items():
        brought = {one.partition(">")[0] for one in project["optional-dependencies"][extra]} - {"bonwise[audit]"}
        needed = {DISTRIBUTIONS.get(one, one) for feature in features for one in feature.modules}
        assert needed == brought
        assert {feature.extra for feature in features} == {extra}
        assert needed.isdisjoint(one.partition(">")[0] for one in project["dependencies"])
