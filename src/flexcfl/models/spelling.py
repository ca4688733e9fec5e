"""A module as Python that makes it with torch alone, where its layers say all there is to know."""

from torch import nn

__all__ = ["spelt"]

# Layers of these types are what their own words say: calls of their names, with all arguments.
PLAIN = (
    nn.Conv2d,
    nn.Dropout,
    nn.Flatten,
    nn.Linear,
    nn.MaxPool2d,
    nn.ReLU,
    nn.ZeroPad2d,
)


def spelt(module: nn.Module) -> str | None:
    """Return an expression of ``torch.nn`` that makes a module like this one, where that is known.

    >>> print(spelt(nn.Sequential(nn.Flatten(), nn.Linear(4, 2))))
    nn.Sequential(
        nn.Flatten(start_dim=1, end_dim=-1),
        nn.Linear(in_features=4, out_features=2, bias=True),
    )
    """
    if type(module) is not nn.Sequential or any(type(each) not in PLAIN for each in module):
        return None
    names = [name for name, _ in module.named_children()]
    if names != [str(number) for number in range(len(names))]:
        return None
    lines = "".join(f"    nn.{_quoted(repr(each))},\n" for each in module)
    return f"nn.Sequential(\n{lines})"


def _quoted(call: str) -> str:
    """Return a call in which words are texts, which torch shows without their quotes."""
    for name in ("padding", "padding_mode"):
        for word in ("same", "valid", "reflect", "replicate", "circular"):
            call = call.replace(f"{name}={word}", f"{name}={word!r}")
    return call
