"""Whether anybody listens to, or meddles with, what a module computes."""

from torch import nn

__all__ = ["hooked"]

HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def hooked(module: nn.Module) -> bool:
    """Whether the module, or one inside of it, has a hook: then it must be called to run."""
    return any(getattr(each, name) for each in module.modules() for name in HOOKS)
