"""The options of FlexCFL and of its ablations.

Duan et al.: Flexible Clustered Federated Learning for Client-Level Data Distribution Shift. IEEE
TPDS 2022, Algorithms 2 and 3.
"""

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass as settings

from flexcfl.aggregation import Sharing
from flexcfl.algorithms.options import FORBID, Count, Groups
from flexcfl.protocol import Local

Rate = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]


@settings(frozen=True, config=FORBID)
class GroupOptions:
    """How clients pre-train to find their group, and how groups start and share.

    ``pretraining_steps`` is a number of mini-batches; ``pretraining_epochs``, if set, replaces it.
    ``first_model`` is the initial model of a group: the mean of its founders' ``pretrained``
    models, or the ``origin``. ``eta_g`` is the rate of inter-group aggregation; ``sharing`` is
    ``convex``, a weighted mean of models, or ``additive``, the paper's sum.
    """

    pretraining_steps: Count = 50
    pretraining_epochs: Count | None = None
    first_model: Literal["pretrained", "origin"] = "pretrained"
    eta_g: Rate = 0.0
    sharing: Sharing = "convex"

    def pretraining(self, local: Local) -> Local:
        """Return the settings of pre-training for clients that otherwise train by ``local``.

        The proximal term is left out, because pre-training should show where a client moves freely.
        """
        if self.pretraining_epochs is not None:
            return replace(local, epochs=self.pretraining_epochs, steps=None, prox=0.0)
        return replace(local, steps=self.pretraining_steps, prox=0.0)


@settings(frozen=True, config=FORBID)
class RccOptions(GroupOptions):
    """The options of FlexCFL with random cluster centres: ``groups`` is their number."""

    groups: Groups = 5


@settings(frozen=True, config=FORBID)
class FlexcflOptions(GroupOptions):
    """The options of FlexCFL.

    ``groups`` is the number of groups, or ``auto`` to choose it from the founders' updates, up to
    ``most_groups``. There are ``alpha`` founders for each group (with ``auto``, for each of
    ``most_groups``), at most all clients. ``measure`` compares their updates: ``edc`` (Equation 7,
    then K-means++) or ``madc`` (Equation 6, then complete linkage).
    """

    groups: Groups | Literal["auto"] = 5
    alpha: Count = 20
    measure: Literal["edc", "madc"] = "edc"
    most_groups: Groups = 10
