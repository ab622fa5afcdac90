/* SPDX-License-Identifier: MIT */
/* Counter-based random numbers: a value is a pure function of a key and a counter. Draws do not depend on threads,
 * order or world. The function is splitmix64's finaliser over a key that is chained from words. */
#ifndef GNN_BASE_RNG_H
#define GNN_BASE_RNG_H

#include "harness/oocgnn.h"

struct gnn_rng {
    uint64_t key;
    uint64_t counter;
};

#define GNN_RNG_GOLDEN UINT64_C(0x9e3779b97f4a7c15)

GNN_DEVICE static inline uint64_t gnn_mix64(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* Returns output `index` of splitmix64 started at `seed`. Any output can be computed alone, so procedural data needs no
 * state. */
GNN_DEVICE static inline uint64_t gnn_splitmix64_at(uint64_t seed, uint64_t index)
{
    return gnn_mix64(seed + (index + 1) * GNN_RNG_GOLDEN);
}

/* Returns a key for one purpose: fold the words one after another (seed, epoch, batch, hop, destination …). */
static inline uint64_t gnn_rng_fold(uint64_t key, uint64_t word)
{
    return gnn_mix64((key ^ gnn_mix64(word + GNN_RNG_GOLDEN)) + GNN_RNG_GOLDEN);
}

/* Returns a key for a purpose by name: "sample", "permute", "init", "dropout". Every result depends on these names. */
uint64_t gnn_rng_fork(uint64_t seed, const char *purpose);

static inline struct gnn_rng gnn_rng_at(uint64_t key)
{
    return (struct gnn_rng){.key = key, .counter = 0};
}

static inline uint64_t gnn_rng_next(struct gnn_rng *rng)
{
    return gnn_splitmix64_at(rng->key, rng->counter++);
}

/* Returns a number that is uniform in [0, bound), bound >= 1, without bias (Lemire's multiply-and-reject). */
static inline uint64_t gnn_rng_below(struct gnn_rng *rng, uint64_t bound)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)gnn_rng_next(rng) * bound;
    if ((uint64_t)product < bound) {
        const uint64_t threshold = (0 - bound) % bound;
        while ((uint64_t)product < threshold)
            product = (wide)gnn_rng_next(rng) * bound;
    }
    return (uint64_t)(product >> 64);
}

/* Returns a number that is uniform in [0, 1), with 53 bits. */
static inline double gnn_rng_unit(struct gnn_rng *rng)
{
    return (double)(gnn_rng_next(rng) >> 11) * 0x1.0p-53;
}

/* Returns a standard normal number (Box-Muller; the other number of the pair is not used). */
double gnn_rng_normal(struct gnn_rng *rng);

#endif
