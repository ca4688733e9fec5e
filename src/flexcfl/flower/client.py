"""The ``ClientApp``: whatever a node is asked, it answers with the same algorithms as at home."""

from logging import ERROR, WARNING

from flwr.app import Context, Message
from flwr.clientapp import ClientApp
from flwr.common.logger import log

from flexcfl.errors import FlexcflError
from flexcfl.flower import node
from flexcfl.flower.records import HELLO, MESSAGES, MalformedError, refusal

__all__ = ["app"]

app = ClientApp()


def _answer(message: Message, context: Context) -> Message:
    """Answer a message; a mistake that a person can mend is told here and to the server."""
    try:
        content = node.answer(message.content, context.node_config, _remark)
    except (FlexcflError, MalformedError) as error:
        log(ERROR, "%s", error)
        content = refusal(str(error))
    return Message(content, reply_to=message)


def _remark(sentence: str) -> None:
    log(WARNING, "%s", sentence)


for _type in (HELLO, *MESSAGES.values()):
    _category, _, _action = _type.partition(".")
    getattr(app, _category)(_action or "default")(_answer)
