"""A custom network: a small ResNet with GroupNorm, for grey images."""

from torch import Tensor, nn
from torch.nn.functional import relu


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv1, self.conv2 = (nn.Conv2d(width, width, 3, padding="same") for _ in range(2))
        self.norm1, self.norm2 = nn.GroupNorm(4, width), nn.GroupNorm(4, width)

    def forward(self, x: Tensor) -> Tensor:
        return relu(x + self.norm2(self.conv2(relu(self.norm1(self.conv1(x))))))


def resnet(width: int = 16, classes: int = 10) -> nn.Module:
    first, last = nn.Conv2d(1, width, 3, stride=2, padding=1), nn.Linear(width, classes)
    blocks = (Block(width), Block(width), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    return nn.Sequential(first, *blocks, last)
