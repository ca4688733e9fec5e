"""A node that answers at once; it imports nothing but Flower."""

from flwr.app import Context, Message, RecordDict
from flwr.clientapp import ClientApp

app = ClientApp()


@app.query("empty")
def _answer(message: Message, context: Context) -> Message:
    return Message(RecordDict(), reply_to=message)
