/* SPDX-License-Identifier: MIT */
/* Counts the blocks and bytes of the heap that a program holds: malloc and its kin, in front of the C library's own.
 * Include it in one source of a program. Under a sanitizer, which has an allocator of its own and looks for leaks
 * itself, every count is 0. */
#ifndef GNN_TESTS_HEAP_COUNT_H
#define GNN_TESTS_HEAP_COUNT_H

#include "tests/support/sanitizers.h"

#include <stdatomic.h>
#include <stdlib.h>

/* A program looks at some of them. */
__attribute__((unused)) static atomic_long heap_blocks, heap_bytes, heap_calls;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) || SANITIZERS_CLANG_FEATURE(thread_sanitizer) ||     \
    SANITIZERS_CLANG_FEATURE(address_sanitizer)
#define HEAP_COUNT_WORKS false
#else
#define HEAP_COUNT_WORKS true

#include <errno.h>
#include <malloc.h>

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *block, size_t bytes);
extern void *__libc_memalign(size_t align, size_t bytes);
extern void __libc_free(void *block);

static void heap_add(long blocks, long bytes)
{
    atomic_fetch_add_explicit(&heap_blocks, blocks, memory_order_relaxed);
    atomic_fetch_add_explicit(&heap_bytes, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&heap_calls, 1, memory_order_relaxed);
}

static void *heap_counted(void *block)
{
    if (block != NULL)
        heap_add(1, (long)malloc_usable_size(block));
    return block;
}

void *malloc(size_t bytes)
{
    return heap_counted(__libc_malloc(bytes));
}

void *calloc(size_t count, size_t bytes)
{
    return heap_counted(__libc_calloc(count, bytes));
}

void *memalign(size_t align, size_t bytes)
{
    return heap_counted(__libc_memalign(align, bytes));
}

void *aligned_alloc(size_t align, size_t bytes)
{
    return heap_counted(__libc_memalign(align, bytes));
}

int posix_memalign(void **out, size_t align, size_t bytes)
{
    void *const block = heap_counted(__libc_memalign(align, bytes));
    if (block == NULL)
        return ENOMEM;
    *out = block;
    return 0;
}

void free(void *block)
{
    if (block != NULL)
        heap_add(-1, -(long)malloc_usable_size(block));
    __libc_free(block);
}

/* A block that becomes another stays one; one that becomes nothing is freed. */
void *realloc(void *block, size_t bytes)
{
    if (block == NULL)
        return heap_counted(__libc_realloc(NULL, bytes));
    const long before = (long)malloc_usable_size(block);
    void *const other = __libc_realloc(block, bytes);
    if (other != NULL)
        heap_add(0, (long)malloc_usable_size(other) - before);
    else if (bytes == 0)
        heap_add(-1, -before);
    return other;
}
#endif

#endif
