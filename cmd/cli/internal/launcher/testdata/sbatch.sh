#!/bin/bash
#SBATCH --job-name=fashion
#SBATCH --ntasks=6
#SBATCH --cpus-per-task=4
# SIGTERM this many seconds before the time limit, so that a checkpoint is written:
#SBATCH --signal=TERM@90
#SBATCH --open-mode=append
#SBATCH --requeue
set -euo pipefail

# Each task finds its place from these and from what Slurm tells it.
export GOESTIMATOR_RUN_CLUSTER_RESOLVER=slurm
export GOESTIMATOR_SLURM_JOBS=chief=1,evaluator=1,ps=2,worker=2
export GOESTIMATOR_SLURM_PORT_BASE=$((12000 + SLURM_JOB_ID % 3333 * 6))
export GOESTIMATOR_JOB_TOKEN="${GOESTIMATOR_JOB_TOKEN:-$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')}"
export GOESTIMATOR_RUN_JOB_ID="${GOESTIMATOR_RUN_JOB_ID:-slurm-$SLURM_JOB_ID}"
export GOESTIMATOR_MODEL_DIR=/scratch/fashion
export GOMAXPROCS=4
export OMP_NUM_THREADS=4
unset TF_CONFIG

mkdir -p 'logs of mine'
code=0
srun --ntasks="$SLURM_NTASKS" --distribution=block --kill-on-bad-exit=1 --wait=0 --cpus-per-task=4 --output='logs of mine/%x-%j-task%t.log' goestimator train --config 'it'\''s here.yaml' --set strategy.name=parameter_server || code=$?
# srun tells the highest code. Tasks that were killed because another failed count too, so
# that a job which fails for good ends by the bound on its restarts.
if [ "$code" -ge 128 ] && [ "${SLURM_RESTART_COUNT:-0}" -lt 5 ]; then
  scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
