"""A custom network: a GRU that reads an image row by row, as a sequence of vectors."""

from torch import Tensor, nn


class Reader(nn.Module):
    def __init__(self, features: int = 8, memory: int = 32, classes: int = 10) -> None:
        super().__init__()
        self.gru = nn.GRU(features, memory, batch_first=True)
        self.head = nn.Linear(memory, classes)

    def forward(self, x: Tensor) -> Tensor:
        steps = x.flatten(1, -2)  # (batch, 1, rows, columns) to (batch, steps, features)
        _, last = self.gru(steps)
        scores: Tensor = self.head(last[-1])
        return scores
