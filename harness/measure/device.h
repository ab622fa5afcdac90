/* SPDX-License-Identifier: MIT */
/* The block device and the file system behind a path. */
#ifndef GNN_MEASURE_DEVICE_H
#define GNN_MEASURE_DEVICE_H

#include "harness/oocgnn.h"

struct gnn_device_info {
    uint32_t major, minor;   /* the whole device (a partition's parent); 0:0 if no block device is behind it */
    char name[GNN_NAME_MAX]; /* "nvme0n1"; "" if none */
    char model[128];         /* "" if the kernel does not report it */
    char scheduler[32];      /* the active scheduler */
    char file_system[32];    /* "ext4" */
    bool in_memory;          /* the file system keeps files in memory only: nothing there is ever cold */
    bool by_mount; /* the file system numbers its files itself (btrfs): its readahead differs from the device's */
    char mount_options[256];
    uint64_t readahead_bytes; /* GNN_UNKNOWN if not reported; so are the fields below */
    uint64_t logical_block_bytes;
    uint64_t physical_block_bytes;
    uint64_t rotational; /* 0 or 1 */
    uint64_t size_bytes;
};

/* Fills out with the device and the file system behind path. tmpfs, overlay and network file systems have device 0:0
 * and a file_system name. Returns GNN_ENOENT if path does not exist, or GNN_EIO. */
GNN_MUST_CHECK enum gnn_status gnn_device_find(const char *path, struct gnn_device_info *out, struct gnn_err *err);

#endif
