"""What a run shows, as charts for Plotly: pure functions from figures to plain values."""

from flexcfl.report.charts.catalogue import OF_METHODS, OF_RUN, chart
from flexcfl.report.charts.chart import Chart

__all__ = ["OF_METHODS", "OF_RUN", "Chart", "chart"]
