/* SPDX-License-Identifier: MIT */
#include "tests/support/data_files.h"

#include "tests/support/must.h"
#include "tests/support/process.h"

#include <assert.h>
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

int data_set_up(void **state)
{
    *state = process_temp_dir();
    return 0;
}

int data_tear_down(void **state)
{
    process_remove_tree(*state);
    free(*state);
    return 0;
}

const char *data_path(char path[DATA_PATH], const char *dir, const char *name)
{
    const int len = snprintf(path, DATA_PATH, "%s/%s", dir, name);
    assert(len > 0 && len < DATA_PATH);
    return path;
}

void data_write(const char *dir, const char *name, const void *bytes, size_t len)
{
    char path[DATA_PATH];
    FILE *file = fopen(data_path(path, dir, name), "wb");
    assert(file != NULL);
    assert(fwrite(bytes, 1, len, file) == len);
    assert(fclose(file) == 0);
}

void data_write_gz(const char *dir, const char *name, const void *bytes, size_t len)
{
    char path[DATA_PATH];
    gzFile file = gzopen(data_path(path, dir, name), "wb1");
    assert(file != NULL);
    assert(len == 0 || gzwrite(file, bytes, (unsigned)len) == (int)len);
    assert(gzclose(file) == Z_OK);
}

char *data_read(const char *dir, const char *name, size_t *len)
{
    char path[DATA_PATH];
    FILE *file = fopen(data_path(path, dir, name), "rb");
    if (file == NULL)
        return NULL;
    assert(fseek(file, 0, SEEK_END) == 0);
    *len = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*len + 1);
    assert(bytes != NULL && fread(bytes, 1, *len, file) == *len);
    bytes[*len] = '\0';
    assert(fclose(file) == 0);
    return bytes;
}

void data_cut_blocks(char *meta)
{
    for (char *line = strstr(meta, "param.blocks."); line != NULL; line = strstr(line, "param.blocks.")) {
        const char *const next = strchr(line, '\n') + 1;
        memmove(line, next, strlen(next) + 1);
    }
}

void data_drop_blocks(const char *dir)
{
    size_t len;
    char *const meta = data_read(dir, "meta", &len);
    assert(meta != NULL);
    data_cut_blocks(meta);
    data_write(dir, "meta", meta, strlen(meta));
    free(meta);
}

bool data_exists(const char *dir, const char *name)
{
    char path[DATA_PATH];
    return access(data_path(path, dir, name), F_OK) == 0;
}

unsigned data_entries(const char *dir)
{
    unsigned count = 0;
    DIR *open = opendir(dir);
    assert(open != NULL);
    for (const struct dirent *entry = readdir(open); entry != NULL; entry = readdir(open))
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    assert(closedir(open) == 0);
    return count;
}

static void write_array(const char *dir, const char *name, const char *descr, const char *fortran, const char *shape,
                        const void *items, size_t bytes)
{
    char head[128];
    memcpy(head, "\x93NUMPY\x01\x00\x76\x00", 10); /* 10 + 118 = 128 */
    const int used = snprintf(head + 10, sizeof head - 10, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr,
                              fortran, shape);
    assert(used > 0 && used < 117);
    memset(head + 10 + used, ' ', (size_t)(117 - used));
    head[127] = '\n';
    char *whole = malloc(sizeof head + bytes);
    assert(whole != NULL);
    memcpy(whole, head, sizeof head);
    if (bytes > 0)
        memcpy(whole + sizeof head, items, bytes);
    const bool gz = strlen(name) > 3 && strcmp(name + strlen(name) - 3, ".gz") == 0;
    (gz ? data_write_gz : data_write)(dir, name, whole, sizeof head + bytes);
    free(whole);
}

void data_write_npy(const char *dir, const char *name, const char *descr, const char *shape, const void *items,
                    size_t bytes)
{
    write_array(dir, name, descr, "False", shape, items, bytes);
}

void data_write_npy_fortran(const char *dir, const char *name, const char *descr, const char *shape, const void *items,
                            size_t bytes)
{
    write_array(dir, name, descr, "True", shape, items, bytes);
}

const char *data_real(const char *name, char path[DATA_PATH])
{
    const char *root = getenv("OOCGNN_TEST_DATA");
    data_path(path, root != NULL ? root : "../shared/data", name);
    if (access(path, R_OK) == 0)
        return path;
    leave_out("no %s; OOCGNN_TEST_DATA names the folder of the real graphs", path);
    return NULL;
}
