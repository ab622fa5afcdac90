/* SPDX-License-Identifier: MIT */
/* A machine of round figures for tests of the simulated world, so that expectations can be worked out by hand:
 *
 *   storage  1 device, stripe 64 KiB, sector 512 B, depth at most 32; a read takes 100 us alone, 10 us between two at
 *            full depth (100 k IOPS), 1 ns a byte (1 GB/s): max(100 us / depth, 10 us, size x 1 ns); sizes 512 B, 4, 64
 *            KiB and 1 MiB at depths 1, 8 and 32; writes 20 us, 500 MB/s, 50 k IOPS; readahead 128 KiB
 *   cpu      4 cores; every unit of work 1 ns; syscall 1 us, submit 500 ns, complete 500 ns, minor fault 500 ns, major
 *            fault 2 us, readahead 100 ns a page, buffered page 1 us, gathers 10 ns (element) and 50 ns (row)
 *   threads  lock 20 ns, wake 1 us, wake latency 5 us, start 10 us
 *   compute  host 10 GFLOP/s and 10 GB/s a core, 20 GB/s together; GPU 1 TFLOP/s, 100 GB/s, 1 GiB; bus 10 and 5 GB/s
 *   memory   64 MiB, 1 MiB of it the process's */
#ifndef GNN_TESTS_SIM_PROFILE_H
#define GNN_TESTS_SIM_PROFILE_H

#include "harness/world/profile.h"

void sim_profile_fill(struct gnn_profile *out);

#endif
