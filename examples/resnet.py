"""A network of one's own: a small ResNet, with GroupNorm, for grey images."""

from torch import Tensor, nn
from torch.nn.functional import relu


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.one, self.two = (nn.Conv2d(width, width, 3, padding="same") for _ in range(2))
        self.calm, self.quiet = nn.GroupNorm(4, width), nn.GroupNorm(4, width)

    def forward(self, x: Tensor) -> Tensor:
        return relu(x + self.quiet(self.two(relu(self.calm(self.one(x))))))


def resnet(width: int = 16, classes: int = 10) -> nn.Module:
    first, last = nn.Conv2d(1, width, 3, stride=2, padding=1), nn.Linear(width, classes)
    blocks = (Block(width), Block(width), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    return nn.Sequential(first, *blocks, last)
