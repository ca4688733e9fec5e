"""How fast cohorts are trained, beside the plain PyTorch loop and what the machine can do."""

from flexcfl.benchmark.machine import machine
from flexcfl.benchmark.measure import Measured, alternate, measure, sgemm_rate
from flexcfl.benchmark.work import WORKS, Work

__all__ = ["WORKS", "Measured", "Work", "alternate", "machine", "measure", "sgemm_rate"]
