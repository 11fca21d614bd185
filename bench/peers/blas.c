/* blas LIBRARY CASE...: times cblas_sgemm of a library that is loaded at run time.
 * It speaks the protocol of ../link.go. NumPy's OpenBLAS takes 64-bit integers and
 * adds 64_ to its names. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef void (*sgemm)(int order, int ta, int tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                      int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc);

typedef struct {
    const char *name;
    int64_t m, n, k;
    int ta, tb;
    float *a, *b, *c;
} product;

static float *matrix(int64_t n, uint32_t salt) {
    float *x = aligned_alloc(64, (n * sizeof(float) + 63) / 64 * 64);
    for (int64_t i = 0; i < n; i++)
        x[i] = salt ? (float)(((uint32_t)i * 2654435761u + salt * 40503u) >> 16) / 65536 - 0.5f : 0;
    return x;
}

static void multiply(sgemm f, const product *p) {
    const int row = 101, no = 111, yes = 112;
    f(row, p->ta ? yes : no, p->tb ? yes : no, p->m, p->n, p->k, 1, p->a, p->ta ? p->m : p->k, p->b,
      p->tb ? p->k : p->n, 1, p->c, p->n);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    void *lib = argc > 2 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
    sgemm f = lib ? (sgemm)dlsym(lib, "cblas_sgemm64_") : NULL;
    char *(*config)(void) = lib ? (char *(*)(void))dlsym(lib, "openblas_get_config64_") : NULL;
    if (!f) {
        printf("{\"error\": \"no cblas_sgemm64_ in %s: %s\"}\n", argc > 1 ? argv[1] : "", lib ? "other names" : dlerror());
        return 1;
    }
    int count = argc - 2;
    product *all = calloc(count, sizeof(product));
    printf("{\"version\": \"%s\", \"values\": {", config ? config() : "");
    for (int i = 0; i < count; i++) {
        product *p = &all[i];
        p->name = argv[i + 2];
        if (sscanf(p->name, "%ldx%ldx%ld", &p->m, &p->n, &p->k) != 3)
            return 1;
        p->ta = strstr(p->name, "-ta") != NULL;
        p->tb = strstr(p->name, "-tb") != NULL;
        p->a = matrix(p->m * p->k, 1);
        p->b = matrix(p->k * p->n, 2);
        p->c = matrix(p->m * p->n, 0);
        multiply(f, p);
        printf("%s\"%s\": [%.9g, %.9g]", i ? ", " : "", p->name, p->c[0], p->c[p->m * p->n - 1]);
    }
    printf("}}\n");
    fflush(stdout);
    char line[256], name[200];
    long steps;
    while (fgets(line, sizeof line, stdin) && sscanf(line, "run %ld %199s", &steps, name) == 2) {
        const product *p = NULL;
        for (int i = 0; i < count; i++)
            if (!strcmp(all[i].name, name))
                p = &all[i];
        if (!p)
            return 1;
        memset(p->c, 0, p->m * p->n * sizeof(float));
        double begun = now();
        for (long i = 0; i < steps; i++)
            multiply(f, p);
        printf("{\"seconds\": %.9f}\n", now() - begun);
        fflush(stdout);
    }
    return 0;
}
