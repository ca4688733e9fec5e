"""How fast cohorts are trained, beside the plain PyTorch loop and what the machine can do."""

from flexcfl.benchmark.machine import machine
from flexcfl.benchmark.measure import Measured, measure
from flexcfl.benchmark.timing import alternate, sgemm_rate
from flexcfl.benchmark.works import WORKS, Work

__all__ = ["WORKS", "Measured", "Work", "alternate", "machine", "measure", "sgemm_rate"]
