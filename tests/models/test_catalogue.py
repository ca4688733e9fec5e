"""Networks by name, and factories of one's own."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import nn

from flexcfl.errors import ModelError
from flexcfl.models import build, check
from flexcfl.models.catalogue import checked_factory
from flexcfl.models.dropout import undropped
from flexcfl.models.trials import check_copies, known_to_work

IMAGE = (1, 28, 28)

PAPER = [
    ("mnist", "mclr", IMAGE, 7_850),
    ("mnist", "mlp", IMAGE, 101_770),
    ("mnist", "cnn", IMAGE, 50_186),
    ("femnist", "mclr", IMAGE, 7_850),
    ("femnist", "mlp", IMAGE, 407_050),
    ("femnist", "cnn", IMAGE, 325_578),
    ("synthetic", "mclr", (60,), 610),
    ("fashion-mnist", "cnn", IMAGE, 3_274_634),
]
OURS = [
    ("digits", "mclr", (1, 8, 8), 650),
    ("digits", "mlp", (1, 8, 8), 4_810),
    ("digits", "cnn", (1, 8, 8), 6_090),
    ("synthetic", "mlp", (60,), 9_098),
    ("fashion-mnist", "mclr", IMAGE, 7_850),
    ("fashion-mnist", "mlp", IMAGE, 101_770),
    ("leaf", "cnn", IMAGE, 50_186),
]


def parameters(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize(("dataset", "name", "shape", "count"), PAPER + OURS)
def test_parameter_counts(dataset: str, name: str, shape: tuple[int, ...], count: int) -> None:
    assert parameters(build(dataset, name, shape, 10)) == count


@pytest.mark.parametrize(("dataset", "name", "shape", "count"), PAPER + OURS)
def test_every_network_can_be_trained_as_many_copies(
    dataset: str, name: str, shape: tuple[int, ...], count: int
) -> None:
    module = build(dataset, name, shape, 10)
    check(module, shape, 10)
    # Vetting does not try what is known to work; here it is held to that.
    assert known_to_work(module)
    with undropped():
        check_copies(module, torch.rand(3, *shape), 10)


@pytest.mark.parametrize("name", ["mclr", "mlp", "cnn"])
def test_any_number_of_classes(name: str) -> None:
    assert build("leaf", name, IMAGE, 62)(torch.zeros(2, *IMAGE)).shape == (2, 62)


def test_dense_networks_take_their_width_from_the_data() -> None:
    assert parameters(build("leaf", "mclr", (3, 5, 7), 4)) == 3 * 5 * 7 * 4 + 4


def test_a_cnn_for_what_is_no_image_is_refused() -> None:
    with pytest.raises(ModelError, match=r"'synthetic' is no image .* \(60,\): choose mclr or mlp"):
        build("synthetic", "cnn", (60,), 10)


@pytest.mark.parametrize(
    ("dataset", "shape"), [("leaf", (3, 32, 32)), ("digits", IMAGE), ("mnist", (1, 8, 8))]
)
def test_a_cnn_for_images_of_another_size_is_refused(dataset: str, shape: tuple[int, ...]) -> None:
    with pytest.raises(ModelError, match=rf"cnn of '{dataset}' takes .* not \({shape[0]}, "):
        build(dataset, "cnn", shape, 10)


def test_an_unknown_name_is_told_with_the_nearest() -> None:
    with pytest.raises(ModelError, match=r"no model 'mcrl': did you mean 'mclr'\? Known: cnn, "):
        build("mnist", "mcrl", IMAGE, 10)


def test_a_dotted_name_without_colon_is_told_how_to_name_an_own_network() -> None:
    with pytest.raises(ModelError, match=r"'networks\.small': .* package\.module:factory"):
        build("mnist", "networks.small", IMAGE, 10)


def test_only_plain_layers_of_torch_are_known_to_work() -> None:
    class Own(nn.Linear):
        pass

    hooked = nn.Sequential(nn.Linear(2, 2))
    hooked[0].register_forward_hook(lambda *_: None)
    for strange in (nn.Sequential(Own(2, 2)), nn.Sequential(nn.GRU(2, 2)), hooked):
        assert not known_to_work(strange)


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
    make = checked_factory(lambda: nn.Linear(3, 2), "mine")
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
        checked_factory(factory, "mine")


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
    make = checked_factory(factory, "mine")
    with pytest.raises(ModelError, match=f"^{sentence}"):
        make()
