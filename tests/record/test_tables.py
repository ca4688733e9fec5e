"""Tables as CSV."""

import csv

import numpy as np

from flexcfl.data.describe import LabelSkew
from flexcfl.protocol import NO_GROUP, Clustering
from flexcfl.record import csv_tables as tables
from flexcfl.record.record import founders_of


def test_every_client_has_its_group_arrival_and_true_cluster() -> None:
    group_of, arrival = np.array([1, NO_GROUP, 0]), np.array([0, 7, 0])
    assert tables.clients(group_of, arrival, np.array([2, 0, 2])) == (
        "client,group,arrival,structure,name\n0,1,0,2,\n1,,7,0,\n2,0,0,2,\n"
    )
    assert tables.clients(group_of, arrival, None, ["a", "b,c", "<d>"]) == (
        'client,group,arrival,structure,name\n0,1,0,,a\n1,,7,,"b,c"\n2,0,0,,<d>\n'
    )


def test_every_client_has_its_labels() -> None:
    columns = ([0, 0, 7], [1, 2, 0], [5, 0, 10], [1, 3, 0])
    skew = LabelSkew(*map(np.array, columns))
    assert (
        tables.of_columns(skew.columns) == "client,label,train,test\n0,1,5,1\n0,2,0,3\n7,0,10,0\n"
    )


def test_founders_points_can_be_read_back_exactly() -> None:
    points = np.random.default_rng(0).normal(size=(4, 3))
    clients, group_of = np.array([3, 5, 8, 9]), np.array([0, 1, 1, 0])
    clustering = Clustering(clients, group_of, 2, points, within=1.0, silhouette=0.5)
    header, *lines = csv.reader(tables.of_columns(founders_of(clustering)).splitlines())
    assert header == ["client", "group", "x0", "x1", "x2"]
    assert [[int(line[0]), int(line[1])] for line in lines] == [[3, 0], [5, 1], [8, 1], [9, 0]]
    assert np.array_equal(np.array([line[2:] for line in lines], float), points)
