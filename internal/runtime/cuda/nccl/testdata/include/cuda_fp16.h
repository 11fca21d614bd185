// nccl.h includes it and uses nothing of it.
