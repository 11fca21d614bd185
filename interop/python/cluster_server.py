"""Is a task of a cluster as TensorFlow's own server.

Usage: cluster_server.py CLUSTER JOB INDEX: CLUSTER is a JSON object of jobs and addresses.
"""

import json
import sys

import tensorflow as tf

tf.distribute.Server(json.loads(sys.argv[1]), job_name=sys.argv[2], task_index=int(sys.argv[3])).join()
