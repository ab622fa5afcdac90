/* SPDX-License-Identifier: MIT */
/* What a test must know of the sanitizer it is compiled under: whether order is looked at, whether addresses are, and
 * that shadow memory is charged like any other. */
#ifndef GNN_TESTS_SANITIZERS_H
#define GNN_TESTS_SANITIZERS_H

#include <stdbool.h>

#ifdef __has_feature /* clang */
#define SANITIZERS_CLANG_FEATURE(name) __has_feature(name)
#else
#define SANITIZERS_CLANG_FEATURE(name) 0
#endif

#if defined(__SANITIZE_THREAD__) || SANITIZERS_CLANG_FEATURE(thread_sanitizer)
#define SANITIZERS_THREAD 1
enum { SANITIZERS_SHADOW_PERCENT = 400 }; /* of the bytes touched, at most */
#define SANITIZERS_ADDRESS 0
#else
#define SANITIZERS_THREAD 0
#if defined(__SANITIZE_ADDRESS__) || SANITIZERS_CLANG_FEATURE(address_sanitizer)
#define SANITIZERS_ADDRESS 1
enum { SANITIZERS_SHADOW_PERCENT = 13 }; /* one byte in eight */
#else
#define SANITIZERS_ADDRESS 0
enum { SANITIZERS_SHADOW_PERCENT = 0 };
#endif
#endif

#if SANITIZERS_ADDRESS
#include <sanitizer/asan_interface.h>
#endif

/* Whether an access of this byte would end the program. Only the address sanitizer knows. */
static inline bool sanitizers_forbid(const void *byte)
{
#if SANITIZERS_ADDRESS
    return __asan_address_is_poisoned(byte) != 0;
#else
    (void)byte;
    return false;
#endif
}

#endif
