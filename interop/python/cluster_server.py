"""Is a task of a cluster as TensorFlow's own server.

Usage: cluster_server.py CLUSTER JOB INDEX [CPUS]: CLUSTER is a JSON object of jobs and addresses, CPUS the number of CPU devices.
"""

import json
import sys

import tensorflow as tf

config = tf.compat.v1.ConfigProto(device_count={"CPU": int(sys.argv[4])}) if len(sys.argv) > 4 else None
tf.distribute.Server(json.loads(sys.argv[1]), job_name=sys.argv[2], task_index=int(sys.argv[3]), config=config).join()
