"""Workers on a Ray cluster of two nodes: the same records, and a lost node's work done again."""

import os
import sys
import time
from pathlib import Path

import pytest

ray = pytest.importorskip("ray", reason="the extra `ray` is not installed")

from graphwalker.errors import GraphWalkerError, UserError  # noqa: E402
from graphwalker.workers.pool import Pool  # noqa: E402
from graphwalker.workers.ray import RayActors  # noqa: E402

pytestmark = pytest.mark.slow


@pytest.fixture
def two_nodes(monkeypatch):
    """The driver's node does no work; two others have a CPU each."""
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import it
    head = {"num_cpus": 0, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    yield cluster, nodes
    ray.shutdown()
    cluster.shutdown()


def maker(base):
    def work(job):
        time.sleep(0.05)
        return base + job, ray.get_runtime_context().get_node_id()

    return work


def fragile(folder):
    def work(job):
        if job == 3:
            (Path(folder) / f"{os.getpid()}").touch()
            os._exit(1)
        return job

    return work


def test_a_lost_nodes_work_is_done_again_by_the_other(two_nodes):
    cluster, nodes = two_nodes
    backend = RayActors(maker, (100,), 2, address=cluster.address)
    with Pool(backend, ahead=4, chunk=2) as pool:
        found = []
        for number, result in enumerate(pool.results(range(40))):
            found.append(result)
            if number == 8:
                cluster.remove_node(nodes[0], allow_graceful=False)
    assert [value for value, _ in found] == [100 + job for job in range(40)]
    assert len({node for _, node in found[:8]}) == 2
    assert len({node for _, node in found[-8:]}) == 1


def test_a_job_that_ends_its_worker_each_time_is_an_error(two_nodes, tmp_path):
    cluster, _ = two_nodes
    backend = RayActors(fragile, (str(tmp_path),), 2, address=cluster.address)
    with Pool(backend, ahead=2) as pool, pytest.raises(GraphWalkerError, match="lost 3 workers"):
        list(pool.results(range(6)))
    assert len(list(tmp_path.iterdir())) == 3


def test_an_address_where_no_cluster_answers():
    with pytest.raises(UserError, match="no Ray cluster answers here"):
        RayActors(maker, (0,), 1, address="127.0.0.1:9")
