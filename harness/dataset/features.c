/* SPDX-License-Identifier: MIT */
#include "harness/dataset/features.h"

#include "harness/base/rng.h"

#include <assert.h>
#include <math.h>

enum { SIGNS = 64, COLUMNS = 32 }; /* of a word of signs; at a time */

/* The sum of four 16-bit uniforms on 0..65535: mean 131070, variance 4 * (65536^2 - 1) / 12. */
static int32_t sum_of_parts(uint64_t bits)
{
    return (int32_t)((bits & 0xffff) + ((bits >> 16) & 0xffff) + ((bits >> 32) & 0xffff) + (bits >> 48));
}

/* Fills columns from `first` on, each loop over numbers of one width, so that the compiler takes several at once. */
static void fill_columns(uint64_t noise_key, uint32_t signs, uint32_t first, uint32_t count, float amplitude,
                         float *columns)
{
    const float scale = (float)(1.0 / 37837.2274); /* sqrt((65536^2 - 1) / 3) */
    uint64_t bits[COLUMNS];
    int32_t sums[COLUMNS];
    assert(count <= COLUMNS);
    for (uint32_t i = 0; i < COLUMNS; i++)
        bits[i] = gnn_splitmix64_at(noise_key, (uint64_t)first + i);
    for (uint32_t i = 0; i < COLUMNS; i++)
        sums[i] = sum_of_parts(bits[i]);
    for (uint32_t i = 0; i < count; i++) {
        const float centre = (signs >> i) & 1 ? amplitude : -amplitude;
        columns[i] = centre + (float)(sums[i] - 131070) * scale;
    }
}

void gnn_feature_row(uint64_t key, uint32_t class, uint32_t node, uint32_t dim, float amplitude, float *row)
{
    assert(dim > 0);
    const uint64_t noise_key = gnn_splitmix64_at(key, node);
    const uint64_t sign_key = gnn_rng_fold(key, class);
    for (uint32_t first = 0; first < dim; first += COLUMNS) {
        const uint32_t signs = (uint32_t)(gnn_splitmix64_at(sign_key, first / SIGNS) >> (first % SIGNS));
        fill_columns(noise_key, signs, first, gnn_min_u32(dim - first, COLUMNS), amplitude, row + first);
    }
}

void gnn_feature_row_store(uint64_t key, uint32_t class, uint32_t node, uint32_t dim, float amplitude,
                           enum gnn_feature_type type, void *row)
{
    float wide[GNN_DIM_MAX];
    assert(dim <= GNN_DIM_MAX);
    gnn_feature_row(key, class, node, dim, amplitude, type == GNN_F32 ? row : wide);
    if (type == GNN_F16)
        gnn_halves_narrow(wide, dim, row);
}

float gnn_feature_amplitude(double signal, uint32_t class_count, uint32_t dim)
{
    assert(class_count > 0);
    assert(dim > 0);
    return (float)(signal * sqrt(2 * log(class_count) / dim));
}
