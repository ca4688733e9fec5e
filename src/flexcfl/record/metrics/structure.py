"""How well the groups that were found match the true clusters, where those are known."""

from flexcfl.protocol import NO_GROUP, Ids

__all__ = ["adjusted_rand_index"]


def adjusted_rand_index(structure: Ids | None, group_of: Ids) -> float | None:
    """Return the adjusted Rand index over all clients that have a group.

    It is 1 where groups and clusters are the same but for their numbers, and about 0 where they
    have nothing to do with each other; None without a known structure or a placed client.
    """
    placed = group_of != NO_GROUP
    if structure is None or not placed.any():
        return None
    # Here, because scikit-learn takes seconds to import, which few runs need.
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(structure[placed], group_of[placed]))
