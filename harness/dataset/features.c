#include "harness/dataset/features.h"

#include "harness/base/rng.h"

#include <assert.h>
#include <math.h>

/* Four 16-bit uniforms on 0..65535: mean 4 * 32767.5, variance 4 * (65536^2 - 1) / 12. */
static float noise(uint64_t bits)
{
    const float scale = (float)(1.0 / 37837.2274); /* sqrt((65536^2 - 1) / 3) */
    const int32_t sum = (int32_t)((bits & 0xffff) + ((bits >> 16) & 0xffff) + ((bits >> 32) & 0xffff) + (bits >> 48));
    return (float)(sum - 131070) * scale;
}

void gnn_feature_row(uint64_t key, uint32_t class, uint32_t node, uint32_t dim, float amplitude, float *row)
{
    assert(dim > 0);
    const uint64_t noise_key = gnn_splitmix64_at(key, node);
    const uint64_t sign_key = gnn_rng_fold(key, class);
    uint64_t signs = 0;
    for (uint32_t column = 0; column < dim; column++) {
        if (column % 64 == 0)
            signs = gnn_splitmix64_at(sign_key, column / 64);
        const float centre = (signs >> (column % 64)) & 1 ? amplitude : -amplitude;
        row[column] = centre + noise(gnn_splitmix64_at(noise_key, column));
    }
}

float gnn_feature_amplitude(double signal, uint32_t class_count, uint32_t dim)
{
    assert(class_count > 0);
    assert(dim > 0);
    return (float)(signal * sqrt(2 * log(class_count) / dim));
}
