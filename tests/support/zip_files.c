/* SPDX-License-Identifier: MIT */
#include "tests/support/zip_files.h"

#include "tests/support/data_files.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static void put(FILE *file, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        assert(fputc((int)(value >> (8 * i) & 255), file) != EOF);
}

void zip_file_open(struct zip_file *zip, const char *dir, const char *name, bool deflated, bool zip64)
{
    char path[DATA_PATH];
    *zip = (struct zip_file){.deflated = deflated, .zip64 = zip64};
    zip->file = fopen(data_path(path, dir, name), "wb");
    assert(zip->file != NULL);
}

static size_t pack(const void *bytes, size_t len, unsigned char **out)
{
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)bytes, .avail_in = (uInt)len};
    assert(deflateInit2(&z, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    const size_t room = deflateBound(&z, len);
    *out = malloc(room + 1);
    assert(*out != NULL);
    z.next_out = *out;
    z.avail_out = (uInt)room;
    assert(deflate(&z, Z_FINISH) == Z_STREAM_END);
    const size_t packed = z.total_out;
    assert(deflateEnd(&z) == Z_OK);
    return packed;
}

/* Version, flags, method, time, date, checksum, sizes; the two kinds of header share these. */
static void put_common(const struct zip_file *zip, unsigned m)
{
    FILE *const f = zip->file;
    put(f, 45, 2);
    put(f, 0, 2);
    put(f, zip->deflated ? 8 : 0, 2);
    put(f, 0, 4);
    put(f, zip->member[m].crc, 4);
    put(f, zip->zip64 ? UINT32_MAX : zip->member[m].packed, 4);
    put(f, zip->zip64 ? UINT32_MAX : zip->member[m].bytes, 4);
    put(f, strlen(zip->member[m].name), 2);
}

void zip_file_add(struct zip_file *zip, const char *name, const void *bytes, size_t len)
{
    FILE *const f = zip->file;
    const unsigned m = zip->members++;
    unsigned char *packed = NULL;
    assert(m < ZIP_FILES_MEMBERS);
    (void)snprintf(zip->member[m].name, sizeof zip->member[m].name, "%s", name);
    zip->member[m].crc = (uint32_t)crc32(0, bytes, (uInt)len);
    zip->member[m].bytes = len;
    zip->member[m].packed = zip->deflated ? pack(bytes, len, &packed) : len;
    zip->member[m].offset = (uint64_t)ftell(f);
    put(f, 0x04034b50, 4);
    put_common(zip, m);
    put(f, zip->zip64 ? 20 : 0, 2);
    assert(fwrite(name, 1, strlen(name), f) == strlen(name));
    if (zip->zip64) {
        put(f, 1, 2);
        put(f, 16, 2);
        put(f, zip->member[m].bytes, 8);
        put(f, zip->member[m].packed, 8);
    }
    assert(fwrite(packed != NULL ? packed : bytes, 1, zip->member[m].packed, f) == zip->member[m].packed);
    free(packed);
}

void zip_file_add_npy(struct zip_file *zip, const char *name, const char *descr, const char *shape, const void *items,
                      size_t bytes)
{
    char *const whole = malloc(128 + bytes);
    assert(whole != NULL);
    memcpy(whole, "\x93NUMPY\x01\x00\x76\x00", 10);
    memset(whole + 10, ' ', 118);
    const int used = sprintf(whole + 10, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape);
    whole[10 + used] = ' ';
    whole[127] = '\n';
    memcpy(whole + 128, items, bytes);
    zip_file_add(zip, name, whole, 128 + bytes);
    free(whole);
}

void zip_file_close(struct zip_file *zip)
{
    FILE *const f = zip->file;
    const uint64_t start = (uint64_t)ftell(f);
    for (unsigned m = 0; m < zip->members; m++) {
        put(f, 0x02014b50, 4);
        put(f, 45, 2);
        put_common(zip, m);
        put(f, zip->zip64 ? 28 : 0, 2);
        put(f, 0, 2); /* comment */
        put(f, 0, 2); /* disk */
        put(f, 0, 6); /* attributes */
        put(f, zip->zip64 ? UINT32_MAX : zip->member[m].offset, 4);
        assert(fputs(zip->member[m].name, f) >= 0);
        if (zip->zip64) {
            put(f, 1, 2);
            put(f, 24, 2);
            put(f, zip->member[m].bytes, 8);
            put(f, zip->member[m].packed, 8);
            put(f, zip->member[m].offset, 8);
        }
    }
    const uint64_t end = (uint64_t)ftell(f);
    if (zip->zip64) {
        put(f, 0x06064b50, 4);
        put(f, 44, 8);
        put(f, 45 | 45 << 16, 4);
        put(f, 0, 8); /* disks */
        put(f, zip->members, 8);
        put(f, zip->members, 8);
        put(f, end - start, 8);
        put(f, start, 8);
        put(f, 0x07064b50, 4);
        put(f, 0, 4);
        put(f, end, 8);
        put(f, 1, 4);
    }
    put(f, 0x06054b50, 4);
    put(f, 0, 4);
    put(f, zip->members, 2);
    put(f, zip->members, 2);
    put(f, zip->zip64 ? UINT32_MAX : end - start, 4);
    put(f, zip->zip64 ? UINT32_MAX : start, 4);
    put(f, 0, 2);
    assert(fclose(f) == 0);
}
