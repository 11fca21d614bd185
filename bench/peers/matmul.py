"""matmul.py CASE...: C += A*B with torch, in place."""
import sys
import time

import numpy as np
import torch

import link

torch.set_num_threads(link.THREADS)


def matrix(n, salt):
    i = np.arange(n, dtype=np.uint32)
    return torch.tensor(((i * np.uint32(2654435761) + np.uint32(salt * 40503)) >> 16).astype(np.float32) / np.float32(65536) - np.float32(0.5))


def product(case):
    size, _, flags = case.partition("-")
    m, n, k = map(int, size.split("x"))
    a, b = matrix(m * k, 1), matrix(k * n, 2)
    a = a.view(k, m).t() if flags == "ta" else a.view(m, k)
    b = b.view(n, k).t() if flags == "tb" else b.view(k, n)
    return torch.zeros(m, n), a, b


products = {case: product(case) for case in sys.argv[1:]}
values = {}
for case, (c, a, b) in products.items():
    c.addmm_(a, b)
    values[case] = [c.flatten()[0].item(), c.flatten()[-1].item()]


def run(steps, case):
    c, a, b = products[case]
    c.zero_()
    begun = time.perf_counter()
    for _ in range(steps):
        c.addmm_(a, b)
    return time.perf_counter() - begun


with torch.inference_mode():
    link.serve(torch.__version__, values, run)
