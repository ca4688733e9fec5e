"""The figures of a run by short names: where a summary has them, and which way is better."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from flexcfl.record.folder import SUMMARY

__all__ = ["FIGURES", "Figure", "figures_in", "versions_in"]


@dataclass(frozen=True)
class Figure:
    """Where a summary has a figure; ``high`` is whether more is better, or comes first.

    A ``share`` is between 0 and 1 and shown in percent.
    """

    place: tuple[str, ...]
    high: bool = False
    share: bool = False


FIGURES: Mapping[str, Figure] = {
    "final": Figure(("accuracy", "final"), high=True, share=True),
    "best": Figure(("accuracy", "best"), high=True, share=True),
    "median": Figure(("accuracy", "median"), high=True, share=True),
    "honest": Figure(("honest", "final"), high=True, share=True),
    "newcomers": Figure(("newcomers", "final"), high=True, share=True),
    "auxiliary": Figure(("auxiliary", "final"), high=True, share=True),
    "loss": Figure(("loss",)),
    "discrepancy": Figure(("discrepancy", "mean")),
    "traffic": Figure(("traffic", "relative_to_fedavg")),
    "transfers": Figure(("traffic", "transfers")),
    "down_bytes": Figure(("traffic", "down_bytes")),
    "up_bytes": Figure(("traffic", "up_bytes")),
    "migrations": Figure(("migrations",), high=True),
    "shifted": Figure(("shifted",), high=True),
    "detected": Figure(("detected",), high=True),
    "placed_again": Figure(("placed_again",), high=True),
    "done": Figure(("rounds",), high=True),
    "clients": Figure(("clients",), high=True),
    "parameters": Figure(("parameters",)),
    "group_count": Figure(("groups",), high=True),
    "adjusted_rand_index": Figure(("adjusted_rand_index",), high=True),
    "silhouette": Figure(("clustering", "silhouette"), high=True),
    "epsilon": Figure(("privacy", "epsilon")),
    "seconds": Figure(("seconds",)),
}
BOUND = 1e300
NUMBER: TypeAdapter[float | int | None] = TypeAdapter(
    Annotated[int, Field(ge=-(2**53), le=2**53)]
    | Annotated[float, Field(ge=-BOUND, le=BOUND)]
    | None
)
SHARE: TypeAdapter[float | int | None] = TypeAdapter(Annotated[float, Field(ge=0, le=1)] | None)
VERSIONS: TypeAdapter[dict[str, str]] = TypeAdapter(dict[str, str])


def figures_in(summary: Mapping[str, Any]) -> dict[str, float | int | None]:
    """Return all figures of a summary, None where it has none.

    ``ValueError`` if something else stands in the place of a number.
    """
    return {name: _number(summary, figure, name) for name, figure in FIGURES.items()}


def versions_in(summary: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the versions of what computed a run, as far as a summary tells."""
    try:
        return VERSIONS.validate_python((summary or {}).get("versions", {}), strict=True)
    except ValidationError:
        raise ValueError(f"versions in {SUMMARY}") from None


def _number(summary: Mapping[str, Any], figure: Figure, name: str) -> float | int | None:
    value: Any = summary
    for part in figure.place:
        if value is not None and not isinstance(value, Mapping):
            raise ValueError(f"{name} in {SUMMARY}")
        value = None if value is None else value.get(part)
    try:
        return (SHARE if figure.share else NUMBER).validate_python(value, strict=True)
    except ValidationError:
        raise ValueError(f"{name} in {SUMMARY}") from None
