"""Asks all nodes for nothing, several times, and writes down how long each time took."""

import json
import time
from pathlib import Path

from flwr.app import Context, RecordDict
from flwr.serverapp import Grid, ServerApp

from flexcfl.flower.channel import MessageChannel
from flexcfl.flower.pipe import reporting

app = ServerApp()


@app.main()
def _main(grid: Grid, context: Context) -> None:
    config, channel = context.run_config, MessageChannel(grid)
    with reporting():
        while len(channel.nodes()) < int(config["nodes"]):
            time.sleep(0.2)
        seconds = [_exchanged(channel, number) for number in range(int(config["times"]))]
        Path(str(config["out"]), "seconds.json").write_text(json.dumps(seconds))


def _exchanged(channel: MessageChannel, number: int) -> float:
    began = time.perf_counter()
    contents = {node: RecordDict() for node in channel.nodes()}
    answers = list(channel.exchange("query.empty", contents, number, 60.0))
    if any(answer.content is None for answer in answers):
        raise RuntimeError("a node did not answer")
    return time.perf_counter() - began
