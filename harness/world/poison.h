/* SPDX-License-Identifier: MIT */
/* Marks the unused end of world memory, which is allocated in whole pages. With the address sanitizer, an access behind
 * the requested bytes ends the program, as with memory of malloc(). Without it, these functions do nothing. */
#ifndef GNN_WORLD_POISON_H
#define GNN_WORLD_POISON_H

#include "harness/oocgnn.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GNN_ADDRESS_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define GNN_ADDRESS_SANITIZER 1
#endif

#ifdef GNN_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

/* Forbids access to [memory + bytes, memory + counted_bytes). */
static inline void gnn_poison_behind(void *memory, uint64_t bytes, uint64_t counted_bytes)
{
#ifdef GNN_ADDRESS_SANITIZER
    __asan_poison_memory_region((unsigned char *)memory + bytes, counted_bytes - bytes);
#else
    (void)memory;
    (void)bytes;
    (void)counted_bytes;
#endif
}

/* Allows access to all of the memory again. Called before the pages return to the kernel, which reuses them. */
static inline void gnn_unpoison(void *memory, uint64_t counted_bytes)
{
#ifdef GNN_ADDRESS_SANITIZER
    __asan_unpoison_memory_region(memory, counted_bytes);
#else
    (void)memory;
    (void)counted_bytes;
#endif
}

#endif
