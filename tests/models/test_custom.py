import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from torch import nn

from flexcfl.errors import ModelError
from flexcfl.models import build
from flexcfl.models.custom import checked

SOURCE = """
from torch import nn

class Net(nn.Linear):
    def __init__(self, width=3):
        super().__init__(width, 2)

class Wide:
    Net = Net

def make():
    import flexcfl_test_sibling
    return nn.Sequential(nn.Flatten(), nn.Linear(flexcfl_test_sibling.WIDTH, 2))

def needs_width(width):
    return nn.Linear(width, 2)

def makes_nothing():
    pass

def fails():
    return nn.Linear(1 // 0, 2)

def leaves():
    raise SystemExit

ready = Net()
number = 7
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Stand in a folder with the user's own files, and forget them again afterwards."""
    (tmp_path / "flexcfl_test_nets.py").write_text(SOURCE)
    (tmp_path / "flexcfl_test_sibling.py").write_text("WIDTH = 5\n")
    (tmp_path / "flexcfl_test_broken.py").write_text("import torch\n\ntorch.no_such_thing\n")
    (tmp_path / "flexcfl_test_leaves.py").write_text("import sys\nsys.exit(3)\n")
    (tmp_path / "flexcfl_test_typo.py").write_text("def make(:\n")
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("flexcfl_test_")]:
        del sys.modules[name]


def own(name: str) -> nn.Module:
    return build("mnist", name, (1, 28, 28), 10)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("name", "kind"), [("make", nn.Sequential), ("Net", nn.Linear), ("Wide.Net", nn.Linear)]
)
def test_functions_and_classes_in_the_current_folder_make_modules(
    name: str, kind: type[nn.Module]
) -> None:
    path = list(sys.path)
    assert isinstance(own(f"flexcfl_test_nets:{name}"), kind)
    assert sys.path == path


def test_an_installed_package_needs_no_folder() -> None:
    assert isinstance(own("torch.nn:Identity"), nn.Identity)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("flexcfl_test_absent:make", r"could not be imported \(ModuleNotFoundError: No module"),
        ("flexcfl_test_typo:make", r"could not be imported \(SyntaxError: .*line 1\)"),
        ("flexcfl_test_broken:make", r"AttributeError at .*flexcfl_test_broken\.py:3: .*no_such"),
        ("not a name:make", r"could not be imported"),
        (":make", r"':make' names no module before its colon: write package\.module:name"),
        ("flexcfl_test_leaves:make", r"imported \(SystemExit at .*flexcfl_test_leaves\.py:2: 3\)"),
        ("flexcfl_test_nets:leaves", r"made \(SystemExit at .*flexcfl_test_nets\.py:25\)"),
        (
            "flexcfl_test_nets:absent",
            r"There is no 'absent' in 'flexcfl_test_nets': correct the model",
        ),
        ("flexcfl_test_nets:not a name", r"There is no 'not a name' in 'flexcfl_test_nets'"),
        (
            "flexcfl_test_nets:",
            r"'flexcfl_test_nets:' is an object of type module, which cannot be",
        ),
        ("flexcfl_test_nets:number", r"type int, which cannot be called: name a func"),
        ("flexcfl_test_nets:ready", r"already been made: name the function or class"),
        ("flexcfl_test_nets:needs_width", r"without arguments: give them defaults"),
        ("flexcfl_test_nets:makes_nothing", r"returned nothing: it must return a torch\.nn\.Modu"),
        ("builtins:dict", r"returned an object of type dict: it must return a torch\.nn\.Module"),
        ("flexcfl_test_nets:fails", r"ZeroDivisionError at .*flexcfl_test_nets\.py:22: .* zero\)"),
    ],
)
def test_what_is_wrong_with_a_name_is_told_in_one_sentence(name: str, sentence: str) -> None:
    path = list(sys.path)
    with pytest.raises(ModelError, match=sentence) as caught:
        own(name)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)
    assert sys.path == path


def test_a_checked_factory_makes_a_module_at_each_call() -> None:
    make = checked(lambda: nn.Linear(3, 2), "mine")
    assert isinstance(make(), nn.Linear)
    assert make() is not make()


@pytest.mark.parametrize(
    ("factory", "sentence"),
    [
        (nn.Identity(), "'mine' is a module that has already been made"),
        (7, "'mine' is an object of type int, which cannot be called"),
        (nn.Linear, "'mine' cannot be called without arguments"),
    ],
)
def test_what_is_no_factory_is_refused_before_it_is_called(factory: object, sentence: str) -> None:
    with pytest.raises(ModelError, match=f"^{sentence}"):
        checked(factory, "mine")


@pytest.mark.parametrize(
    ("factory", "sentence"),
    [
        (dict, "'mine' returned an object of type dict"),
        (lambda: 1 // 0, r"The model 'mine' could not be made \(ZeroDivisionError"),
        (sys.exit, r"The model 'mine' could not be made \(SystemExit"),
    ],
)
def test_what_a_factory_does_wrong_is_told_when_it_is_called(
    factory: object, sentence: str
) -> None:
    make = checked(factory, "mine")
    with pytest.raises(ModelError, match=f"^{sentence}"):
        make()
