"""The options that the command and Python share, each declared once.

The command-line options, and the keywords of ``flexcfl.run`` and ``flexcfl.compare`` with their
descriptions, are made from these declarations.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from torch import nn

    from flexcfl.data import Federation
    from flexcfl.protocol import Algorithm
    from flexcfl.shifts import Shift
    from flexcfl.shifts.detection import Detector

PLACE = "options: The options of the command, by the same names."  # in a docstring
FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


@dataclass(frozen=True)
class Option:
    """An option: the setting that it sets, if any, and its descriptions.

    ``help`` is the description on the command line. ``python`` is the one in docstrings, if Python
    takes more than a name. ``kind`` is the type of a value on the command line.
    """

    setting: str
    help: str
    python: str = ""
    metavar: str = "NAME"
    kind: Any = str

    @property
    def meaning(self) -> str:
        """The description in docstrings."""
        return self.python or self.help.partition(" [default")[0]


class SharedOptions(TypedDict, total=False):
    """The options of a run that all runs of a comparison share."""

    dataset: Annotated[
        "str | Federation | Callable[[], Federation] | object | None",
        Option(
            "data.name",
            "A name from 'flexcfl data list', or your own as package.module:function. "
            "[default: digits]",
            'A name such as ``"mnist"``, a custom federation, or a function, a class or an object '
            "with options that makes one.",
        ),
    ]
    model: Annotated[
        "str | Callable[[], nn.Module] | None",
        Option(
            "model.name",
            "mclr, mlp, cnn, or your own as package.module:factory.",
            '``"mclr"``, ``"mlp"``, ``"cnn"``, ``"package.module:factory"``, or a function or '
            "class that makes an ``nn.Module``.",
        ),
    ]
    groups: Annotated[
        "int | Literal['auto'] | None",
        Option(
            "algorithm.groups",
            "Number of groups, or auto if the algorithm can choose it.",
            'Number of groups, or ``"auto"`` if the algorithm can choose it.',
            "N|auto",
        ),
    ]
    rounds: Annotated[
        int | None, Option("run.rounds", "Number of communication rounds.", "", "N", int)
    ]
    cohort: Annotated[
        int | None, Option("run.cohort", "Number of clients that train in a round.", "", "N", int)
    ]
    epochs: Annotated[
        int | None,
        Option("local.epochs", "Epochs of local training in a round.", "", "N", int),
    ]
    batch: Annotated[
        int | None, Option("local.batch", "Number of examples in a mini-batch.", "", "N", int)
    ]
    rate: Annotated[
        float | None, Option("local.rate", "The clients' learning rate.", "", "X", float)
    ]
    shift: Annotated[
        "str | type[Any] | Shift | Sequence[str | type[Any] | Shift] | Mapping[str, Shift] | None",
        Option(
            "shift.name",
            "How clients' data change ('flexcfl settings shift'), or none; may be repeated. "
            "[default: swap-all for digits, else none]",
            'How clients\' data change: a name such as ``"swap-all"``, a class, an object such as '
            "``flexcfl.shifts.SwapAll(0.1)``, or a list of these, which act together. "
            '``"none"`` keeps the data unchanged. ``{"name": shift}`` gives a shift a name.',
            kind=list[str],
        ),
    ]
    drift: Annotated[
        "str | type[Any] | Detector | None",
        Option(
            "drift.name",
            "How clients detect drift ('flexcfl settings drift'). [default: label-share]",
            "How clients detect drift of their data: a name such as "
            '``"label-share"``, a class, or an object such as '
            "``flexcfl.shifts.detection.LabelShare(fraction=0.2)``.",
        ),
    ]
    data: Annotated[
        str | Path | None,
        Option("run.data", "Folder with the files of the dataset.", "", "DIR", Path),
    ]
    device: Annotated[str | None, Option("run.device", "cpu or cuda. [default: cpu]")]
    track: Annotated[
        "str | Sequence[str] | None",
        Option(
            "",
            "Log to tensorboard or mlflow (extras of these names); may be repeated.",
            'Log the rounds to ``"tensorboard"`` (which needs ``out``), ``"mlflow"`` or both; '
            "each needs the extra of its name.",
            kind=list[str],
        ),
    ]


class Options(SharedOptions, total=False):
    """All options of a run."""

    algorithm: Annotated[
        "str | type[Any] | Algorithm[Any] | None",
        Option(
            "algorithm.name",
            "A name from 'flexcfl algorithms', or your own as package.module:Class. "
            "[default: flexcfl]",
            'A name such as ``"fedavg"``, a custom class, or an object such as '
            "``flexcfl.algorithms.FlexCFL(groups=4)``.",
        ),
    ]
    seed: Annotated[
        int | None,
        Option(
            "run.seed",
            "Random seed; the same seed gives the same run, bit for bit. [default: 0]",
            "Random seed; the same seed gives the same run, bit for bit.",
            "N",
            int,
        ),
    ]


FIRST = ("dataset", "model", "algorithm")
DECLARED: Mapping[str, Option] = {
    name: hint.__metadata__[0] for name, hint in Options.__annotations__.items()
}
OPTIONS: Mapping[str, Option] = {name: each for name, each in DECLARED.items() if each.setting}
"""The options that set a setting."""


def names_of(kinds: type[Any]) -> list[str]:
    """Return the names of the options of a class in display order."""
    names = list(kinds.__annotations__)
    known = {name: index for index, name in enumerate(FIRST)} | {"track": len(FIRST) + 1}
    return sorted(names, key=lambda name: known.get(name, len(FIRST)))


def with_options(kinds: type[Any]) -> Callable[[FunctionT], FunctionT]:
    """Add the options of a class to the signature and docstring of a function with ``**options``.

    ``kinds`` is the class of the options that the function takes.
    """

    def shown(function: FunctionT) -> FunctionT:
        signature = inspect.signature(function)
        own = [each for each in signature.parameters.values() if each.kind != each.VAR_KEYWORD]
        first = [each for each in own if each.kind != each.KEYWORD_ONLY]
        options = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_kind(kinds, name)
            )
            for name in names_of(kinds)
        ]
        parameters = [*first, *options, *own[len(first) :]]
        function.__dict__["__signature__"] = signature.replace(parameters=parameters)
        function.__doc__ = (function.__doc__ or "").replace(PLACE, _descriptions(kinds))
        return function

    return shown


def _kind(kinds: type[Any], name: str) -> Any:
    """Return the type of an option, as a string if it is not imported."""
    kind = kinds.__annotations__[name].__origin__
    return getattr(kind, "__forward_arg__", kind)


def _descriptions(kinds: type[Any]) -> str:
    """Return the lines of a docstring that describe the options."""
    lines = (f"{name}: {DECLARED[name].meaning}" for name in names_of(kinds))
    return "\n        ".join(lines)
