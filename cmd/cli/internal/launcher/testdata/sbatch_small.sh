#!/bin/bash
#SBATCH --job-name=one
#SBATCH --ntasks=1
# SIGTERM this many seconds before the time limit, so that a checkpoint is written:
#SBATCH --signal=TERM@1
#SBATCH --open-mode=append
set -euo pipefail

# Each task finds its place from these and from what Slurm tells it.
export GOESTIMATOR_RUN_CLUSTER_RESOLVER=slurm
export GOESTIMATOR_SLURM_JOBS=worker=1
export GOESTIMATOR_SLURM_PORT_BASE=$((12000 + SLURM_JOB_ID % 20000 * 1))
export GOESTIMATOR_JOB_TOKEN="${GOESTIMATOR_JOB_TOKEN:-$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')}"
export GOESTIMATOR_RUN_JOB_ID="${GOESTIMATOR_RUN_JOB_ID:-slurm-$SLURM_JOB_ID}"
unset TF_CONFIG

code=0
srun --ntasks="$SLURM_NTASKS" --distribution=block --kill-on-bad-exit=1 --wait=0 --label train || code=$?
exit "$code"
