/* What a test must know of the sanitizer it is compiled under: whether order is looked at, and that shadow memory is
 * charged like any other. */
#ifndef GNN_TESTS_SANITIZERS_H
#define GNN_TESTS_SANITIZERS_H

#ifdef __has_feature /* clang */
#define SANITIZERS_CLANG_FEATURE(name) __has_feature(name)
#else
#define SANITIZERS_CLANG_FEATURE(name) 0
#endif

#if defined(__SANITIZE_THREAD__) || SANITIZERS_CLANG_FEATURE(thread_sanitizer)
#define SANITIZERS_THREAD 1
enum { SANITIZERS_SHADOW_PERCENT = 400 }; /* of the bytes touched, at most */
#else
#define SANITIZERS_THREAD 0
#if defined(__SANITIZE_ADDRESS__) || SANITIZERS_CLANG_FEATURE(address_sanitizer)
enum { SANITIZERS_SHADOW_PERCENT = 13 }; /* one byte in eight */
#else
enum { SANITIZERS_SHADOW_PERCENT = 0 };
#endif
#endif

#endif
