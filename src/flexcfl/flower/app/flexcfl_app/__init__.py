"""The app that ``flwr run`` hands to a SuperLink: all of it is in the package ``flexcfl``."""

__all__: list[str] = []
