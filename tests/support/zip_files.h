/* SPDX-License-Identifier: MIT */
/* Writes zip archives for tests, member by member, as NumPy and PyTorch write them. */
#ifndef GNN_TESTS_ZIP_FILES_H
#define GNN_TESTS_ZIP_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { ZIP_FILES_MEMBERS = 16 };

struct zip_file {
    FILE *file;
    bool deflated;
    bool zip64; /* every size and offset in zip64 fields */
    unsigned members;
    struct {
        char name[64];
        uint32_t crc;
        uint64_t bytes, packed, offset;
    } member[ZIP_FILES_MEMBERS];
};

void zip_file_open(struct zip_file *zip, const char *dir, const char *name, bool deflated, bool zip64);
void zip_file_add(struct zip_file *zip, const char *name, const void *bytes, size_t len);
/* The same for an array: a NumPy file of format 1.0. */
void zip_file_add_npy(struct zip_file *zip, const char *name, const char *descr, const char *shape, const void *items,
                      size_t bytes);
void zip_file_close(struct zip_file *zip);

#endif
