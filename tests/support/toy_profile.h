/* SPDX-License-Identifier: MIT */
/* A small profile's text in parts, each figure with a source, for tests that change one of them. Header only. */
#ifndef GNN_TESTS_TOY_PROFILE_H
#define GNN_TESTS_TOY_PROFILE_H

#include "harness/world/profile.h"
#include "tests/support/must.h"

#define MACHINE "[machine]\nmachine_id = toy\ntitle = A toy\nmemory = 8G stated\nprocess = 1M assumed: small\n"
#define WRITES                                                                                                         \
    "devices = 2 stated\nstripe = 64K stated\nsector = 512 stated\ndepth_max = 32 stated\n"                            \
    "write_latency = 40us assumed\nwrite_iops = 20k/s stated\nwrite_bandwidth = 400MB/s stated\n"                      \
    "readahead = 128K assumed\n"
#define CURVE "read_latency = 80us measured\nread_iops = 100k/s datasheet\nread_bandwidth = 409.6MB/s datasheet\n"
#define COSTS                                                                                                          \
    "sampled_edge = 7ns measured\nhashed_id = 8.5ns measured\nsorted_key = 5ns measured\n"                             \
    "copied_byte = 0.07ns measured\ntable_entry = 12ns measured\ngather_element = 11ns measured\n"                     \
    "gather_row = 120ns measured\nfault_minor = 330ns measured\nfault_major = 2.5us assumed\n"                         \
    "readahead_page = 300ns measured\nsyscall = 167ns measured\nsubmit = 700ns assumed\n"                              \
    "complete = 600ns assumed\nbuffered_page = 500ns measured\nlock = 6ns measured\nwake = 3.5us measured\n"           \
    "wake_latency = 5.7us measured\nthread_start = 36us measured\n"
#define CPU "[cpu]\nmodel = Toy\ncores = 4 stated\nclock = 2.6GHz stated\n"
#define HOST                                                                                                           \
    "[host]\ngemm = 100GFLOP/s derived\nbandwidth = 10GB/s assumed\nbandwidth_shared = 40GB/s derived\n"               \
    "gather = 4GB/s assumed\nlaunch = 200ns assumed\n"
#define GPU                                                                                                            \
    "[gpu]\ngemm = 24.9TFLOP/s derived\nbandwidth = 795GB/s derived\ngather = 400GB/s derived\n"                       \
    "launch = 3us assumed\nmemory = 24G stated\n"
#define BUS "[bus]\npinned = 25GB/s derived\npageable = 8GB/s assumed\nlatency = 10us assumed\n"
#define GOOD MACHINE "[storage]\n" WRITES CURVE CPU COSTS HOST GPU BUS

static inline struct gnn_profile *parse(const char *path, const char *text)
{
    struct gnn_profile *p = NULL;
    struct gnn_err err = {0};
    must(gnn_profile_parse(path, text, &p, &err), &err);
    return p;
}

#endif
