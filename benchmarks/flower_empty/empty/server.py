"""Asks all nodes for nothing, several times, and writes down how long each time took."""

import json
import time
from pathlib import Path

from flwr.app import Context, RecordDict
from flwr.serverapp import Grid, ServerApp

from flexcfl.flower.post import Post
from flexcfl.flower.telling import telling

app = ServerApp()


@app.main()
def _main(grid: Grid, context: Context) -> None:
    config, post = context.run_config, Post(grid)
    with telling():
        while len(post.nodes()) < int(config["nodes"]):
            time.sleep(0.2)
        seconds = [_exchanged(post, number) for number in range(int(config["times"]))]
        Path(str(config["out"]), "seconds.json").write_text(json.dumps(seconds))


def _exchanged(post: Post, number: int) -> float:
    began = time.perf_counter()
    answers = list(
        post.exchange("query.empty", {node: RecordDict() for node in post.nodes()}, number, 60.0)
    )
    if any(answer.content is None for answer in answers):
        raise RuntimeError("a node did not answer")
    return time.perf_counter() - began
