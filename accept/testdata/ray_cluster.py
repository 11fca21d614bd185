"""A Ray of three nodes on this machine. It prints its address, then obeys lines: "kill N" ends node N as a lost host
does, and the end of the input ends all."""
import sys

from ray.cluster_utils import Cluster

cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
nodes = [cluster.add_node(num_cpus=4) for _ in range(2)]
cluster.wait_for_nodes()
print("address", cluster.address, flush=True)
for line in sys.stdin:
    cluster.remove_node(nodes[int(line.split()[1])], allow_graceful=False)
    print("killed", flush=True)
cluster.shutdown()
