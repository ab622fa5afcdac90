/* SPDX-License-Identifier: MIT */
/* Whether there is a libxsmm whose generator harness/tensor/cpu/tile_kernels.c can call: make and setup.sh compile and
 * link this. Prints its version. */
#include <libxsmm.h>
#include <libxsmm_cpuid.h>
#include <libxsmm_generator.h>
#include <stdio.h>

int main(void)
{
    static char code[1 << 17];
    libxsmm_descriptor_blob blob;
    const libxsmm_gemm_descriptor *const sizes = libxsmm_sgemm_descriptor_init(
        &blob, 8, 6, 4, 8, 4, 8, 1.0f, 0.0f, LIBXSMM_GEMM_FLAG_NONE, LIBXSMM_GEMM_PREFETCH_NONE);
    libxsmm_generated_code generated = {
        .generated_code = code, .buffer_size = sizeof code, .code_type = 2, .arch = LIBXSMM_X86_AVX2};
    if (sizes == NULL || LIBXSMM_X86_AVX512_CORE == LIBXSMM_X86_AVX2)
        return 1;
    libxsmm_generator_gemm_kernel(&generated, sizes);
    return generated.last_error != 0 || puts(LIBXSMM_VERSION) < 0;
}
