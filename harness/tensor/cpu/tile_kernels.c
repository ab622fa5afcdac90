/* SPDX-License-Identifier: MIT */
#include "harness/tensor/cpu/tile_kernels.h"
#include "harness/tensor/cpu/kernels.h"

#include "build_libraries.h"

#include <string.h>

#if GNN_HAVE_LIBXSMM
#include <libxsmm_cpuid.h>
#include <libxsmm_generator.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { CODE_BYTES_MOST = 128 << 10 };

/* What kernels are generated for: what valgrind shows of a processor, too, so that counted programs run. */
static int instruction_set(bool without_avx512)
{
    struct gnn_blas_facts facts;
    gnn_blas_look(&facts);
    if (facts.has_avx512 && !without_avx512)
        return LIBXSMM_X86_AVX512_CORE;
    return facts.has_avx2 ? LIBXSMM_X86_AVX2 : LIBXSMM_TARGET_ARCH_GENERIC;
}

const char *gnn_narrow_kernels(void)
{
    const int set = instruction_set(false);
    if (set == LIBXSMM_TARGET_ARCH_GENERIC)
        return NULL;
    return set == LIBXSMM_X86_AVX512_CORE ? "AVX-512" : "AVX2";
}

/* libxsmm counts in columns: row-major c = op(a) b is its c' = b' op(a)'. Returns the bytes of the code, 0 for none. */
static uint32_t generate(const struct gnn_tile *tile, int set, void *code)
{
    libxsmm_descriptor_blob blob;
    const libxsmm_gemm_descriptor *const sizes = libxsmm_sgemm_descriptor_init(
        &blob, (int)tile->cols, (int)tile->rows, (int)tile->terms, (int)tile->b_stride, (int)tile->a_stride,
        (int)tile->c_stride, 1.0f, tile->add ? 1.0f : 0.0f,
        tile->trans_a ? LIBXSMM_GEMM_FLAG_TRANS_B : LIBXSMM_GEMM_FLAG_NONE, LIBXSMM_GEMM_PREFETCH_NONE);
    if (sizes == NULL || set == LIBXSMM_TARGET_ARCH_GENERIC)
        return 0;
    libxsmm_generated_code generated = {
        .generated_code = code, .buffer_size = CODE_BYTES_MOST, .code_type = 2, .arch = (unsigned)set};
    libxsmm_generator_gemm_kernel(&generated, sizes);
    return generated.last_error == 0 ? generated.code_size : 0;
}

/* Memory is written, then executed, never both at a time. Returns NULL where the system refuses either. */
static void *executable(const void *code, uint64_t bytes)
{
    void *const room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return NULL;
    memcpy(room, code, bytes);
    if (mprotect(room, bytes, PROT_READ | PROT_EXEC) == 0)
        return room;
    (void)munmap(room, bytes);
    return NULL;
}

static void fill_in(struct gnn_tile_kernels *kernels, struct gnn_tile_kernel *kernel)
{
    void *const code = calloc(1, CODE_BYTES_MOST);
    const uint32_t bytes = code != NULL ? generate(&kernel->tile, instruction_set(kernels->without_avx512), code) : 0;
    void *const room = bytes > 0 ? executable(code, bytes) : NULL;
    kernels->refused = code == NULL || (bytes > 0 && room == NULL);
    if (room != NULL) {
        kernel->bytes = bytes;
        memcpy(&kernel->fn, &room, sizeof kernel->fn);
    }
    free(code);
}

void gnn_tile_kernels_close(struct gnn_tile_kernels *kernels)
{
    for (uint32_t k = 0; k < kernels->count; k++) {
        void *room;
        memcpy(&room, &kernels->kernel[k].fn, sizeof room);
        if (room != NULL)
            (void)munmap(room, kernels->kernel[k].bytes);
    }
    *kernels = (struct gnn_tile_kernels){0};
}
#else
const char *gnn_narrow_kernels(void)
{
    return NULL;
}

static void fill_in(struct gnn_tile_kernels *kernels, struct gnn_tile_kernel *kernel)
{
    (void)kernel;
    kernels->refused = true;
}

void gnn_tile_kernels_close(struct gnn_tile_kernels *kernels)
{
    *kernels = (struct gnn_tile_kernels){0};
}
#endif

static bool same_tile(const struct gnn_tile *a, const struct gnn_tile *b)
{
    return a->rows == b->rows && a->cols == b->cols && a->terms == b->terms && a->a_stride == b->a_stride &&
           a->b_stride == b->b_stride && a->c_stride == b->c_stride && a->trans_a == b->trans_a && a->add == b->add;
}

gnn_tile_fn *gnn_tile_kernel(struct gnn_tile_kernels *kernels, const struct gnn_tile *tile)
{
    for (uint32_t k = 0; k < kernels->count; k++)
        if (same_tile(&kernels->kernel[k].tile, tile))
            return kernels->kernel[k].fn;
    if (kernels->refused || kernels->count == GNN_TILE_KERNELS_MOST)
        return NULL;
    struct gnn_tile_kernel *const kernel = &kernels->kernel[kernels->count];
    *kernel = (struct gnn_tile_kernel){.tile = *tile};
    fill_in(kernels, kernel);
    if (!kernels->refused)
        kernels->count++;
    return kernel->fn;
}
