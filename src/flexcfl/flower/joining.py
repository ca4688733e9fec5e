"""How nodes become known: each is asked once which clients it hosts."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from flexcfl.errors import SettingsError
from flexcfl.flower.post import Answer, Post
from flexcfl.flower.records import (
    HELLO,
    Heading,
    Hosts,
    Letter,
    MalformedError,
    hosts_in,
    letter_record,
)

__all__ = ["Joining", "Likeness"]

PAUSE = 0.2
LIMIT = 120.0  # seconds after which a node that has not answered is asked again
AGAIN = 20.0  # seconds after which one that cannot take part is asked again

Likeness: TypeAlias = tuple[int, tuple[int, ...], int]  # clients in all, shape, classes


@dataclass(eq=False)
class Joining:
    """Asks nodes who they are; ``remark`` is told of those that cannot take part, and why.

    ``like`` is what the data of all nodes must be like, from the first one on. What was ``heard``
    last of a node that cannot take part is for the sentence that ends a run without enough of them.
    """

    post: Post
    remark: Callable[[str], None]
    like: Likeness | None = None
    heard: str = ""
    _greeted: set[int] = field(default_factory=set)
    _due: dict[str, int] = field(default_factory=dict)
    _sent: dict[str, float] = field(default_factory=dict)
    _refused: dict[int, float] = field(default_factory=dict)

    def look(self, heading: Heading) -> list[tuple[int, Hosts]]:
        """Ask nodes that are new, and return those that have answered since the last look."""
        there = self.post.nodes()
        self._greeted &= set(there)  # one that went away and came back is asked again
        new = [node for node in there if node not in self._greeted]
        if new:
            letters = {node: letter_record(Letter(heading, None)) for node in new}
            due = self.post.send(HELLO, letters, heading.round, LIMIT)
            self._due |= due
            self._sent |= dict.fromkeys(due, self.post.clock())
            self._greeted |= set(due.values())
        found = [self._found(answer) for answer in self.post.collect(self._due)]
        self._forget()
        return [each for each in found if each is not None]

    def wait(self, heading: Heading, number: int, patience: float) -> list[tuple[int, Hosts]]:
        """Return so many nodes once they are there, or end with a sentence."""
        found: dict[int, Hosts] = {}
        end = self.post.clock() + patience
        while True:
            found |= dict(self.look(heading))
            # One that was started again may be there twice, until Flower notices.
            there = len({hosts.clients.tobytes() for hosts in found.values()})
            if there >= number:
                return list(found.items())
            if self.post.clock() >= end:
                break
            self.post.sleep(PAUSE)
        why = f" ({self.heard})" if self.heard else ""
        raise SettingsError(
            f"After {patience:g} s {there} of {number} nodes can take part{why}: start more "
            "of them and look at what they say, lower network.nodes, or wait longer "
            "(network.patience)."
        )

    def _found(self, answer: Answer) -> tuple[int, Hosts] | None:
        try:
            hosts = hosts_in(answer.opened())
            self._check_alike(hosts)
        except MalformedError as error:
            self._refused[answer.node] = self.post.clock()
            sentence = f"Node {answer.node} cannot take part: {error}"
            if sentence != self.heard:  # it may say so again and again
                self.remark(sentence)
            self.heard = sentence
            return None
        return answer.node, hosts

    def _check_alike(self, hosts: Hosts) -> None:
        mine = (hosts.total, hosts.shape, hosts.classes)
        self.like = self.like or mine
        if mine != self.like:
            raise MalformedError(
                f"its data are of {mine[0]} clients, shape {mine[1]} and {mine[2]} classes, and "
                f"should be of {self.like[0]}, {self.like[1]} and {self.like[2]}"
            )

    def _forget(self) -> None:
        """Ask again whom nothing was heard of, and after a while who could not take part."""
        for node, at in list(self._refused.items()):
            if self.post.clock() - at > AGAIN:
                self._greeted.discard(node)
                del self._refused[node]
        self._sent = {message: at for message, at in self._sent.items() if message in self._due}
        for message, at in list(self._sent.items()):
            if self.post.clock() - at > LIMIT:
                self._greeted.discard(self._due.pop(message))
                del self._sent[message]
