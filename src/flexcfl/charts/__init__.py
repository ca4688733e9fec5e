"""What a run shows, as charts for Plotly: pure functions from figures to plain values."""

from flexcfl.charts.catalogue import OF_METHODS, OF_RUN, chart
from flexcfl.charts.chart import Chart
from flexcfl.charts.record import Columns, Record

__all__ = ["OF_METHODS", "OF_RUN", "Chart", "Columns", "Record", "chart"]
