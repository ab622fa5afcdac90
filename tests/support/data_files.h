/* SPDX-License-Identifier: MIT */
/* Files for tests of datasets and imports: raw, gzip and NumPy files, and where the real graphs lie. */
#ifndef GNN_TESTS_DATA_FILES_H
#define GNN_TESTS_DATA_FILES_H

#include "harness/oocgnn.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DATA_PATH = 1024 };

/* A cmocka test's set-up and tear-down: *state is the path of a fresh directory. */
int data_set_up(void **state);
int data_tear_down(void **state);
/* dir/name in path; returns path. */
const char *data_path(char path[DATA_PATH], const char *dir, const char *name);

void data_write(const char *dir, const char *name, const void *bytes, size_t len);
void data_write_gz(const char *dir, const char *name, const void *bytes, size_t len);
/* The whole file with a NUL behind it, to be freed; NULL when it is missing. */
char *data_read(const char *dir, const char *name, size_t *len);
/* Takes the lines of checksums of blocks out of the text of a meta file. */
void data_cut_blocks(char *meta);
/* The same for dir/meta: the dataset is as one that was prepared without them, so that damage is found later. */
void data_drop_blocks(const char *dir);
bool data_exists(const char *dir, const char *name);
/* Files and directories in dir. */
unsigned data_entries(const char *dir);

/* A NumPy 1.0 file as NumPy writes it; shape is "(3,)" or "(2, 5)". name may end in .gz. */
void data_write_npy(const char *dir, const char *name, const char *descr, const char *shape, const void *items,
                    size_t bytes);
/* The same for a matrix whose items come column by column. */
void data_write_npy_fortran(const char *dir, const char *name, const char *descr, const char *shape, const void *items,
                            size_t bytes);

/* The real graph `name` under $OOCGNN_TEST_DATA or ../shared/data; NULL, with a printed message, when it is not
 * there. */
const char *data_real(const char *name, char path[DATA_PATH]);

#endif
