/* SPDX-License-Identifier: MIT */
#include "harness/dataset/npy.h"

#include "harness/dataset/csv_numbers.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the header ---- */

struct cursor {
    const char *at, *end;
};

static void skip_blanks(struct cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t'))
        c->at++;
}

/* Takes `text` if it comes next. */
static bool take(struct cursor *c, const char *text)
{
    const size_t len = strlen(text);
    skip_blanks(c);
    if ((size_t)(c->end - c->at) < len || memcmp(c->at, text, len) != 0)
        return false;
    c->at += len;
    return true;
}

/* A quoted word without escapes. */
static bool take_word(struct cursor *c, char *word, size_t word_bytes)
{
    skip_blanks(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"'))
        return false;
    const char quote = *c->at++;
    size_t used = 0;
    while (c->at < c->end && *c->at != quote && used + 1 < word_bytes)
        word[used++] = *c->at++;
    word[used] = '\0';
    return c->at < c->end && *c->at++ == quote;
}

static bool take_number(struct cursor *c, uint64_t *out)
{
    skip_blanks(c);
    const char *start = c->at;
    *out = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++)
        if (__builtin_mul_overflow(*out, UINT64_C(10), out) ||
            __builtin_add_overflow(*out, (uint64_t)(*c->at - '0'), out))
            return false;
    return c->at > start;
}

/* Returns how to save an array of a type that is not read. */
static const char *way_of(const char *descr)
{
    const char kind = descr[0] != '\0' ? descr[1] : '\0';
    if (kind == 'U' || kind == 'S')
        return "number the words with numpy.unique(a, return_inverse=True)[1]";
    if (strcmp(descr + (kind != '\0'), "V2") == 0)
        return "if it is bfloat16, save (a.view('uint16').astype('uint32') << 16).view('float32')";
    return "save features with a.astype('float32'), and node IDs or labels with a.astype('int64')";
}

static enum gnn_status parse_descr(struct cursor *c, const char *path, struct gnn_npy_header *out, struct gnn_err *err)
{
    char descr[16];
    if (!take_word(c, descr, sizeof descr))
        return gnn_fail(err, GNN_EFORMAT, "%s: structured or unreadable dtype: expected plain numbers", path);
    static const char *const known[] = {"f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"};
    const bool ordered = descr[0] != '\0' && strchr("<>=|", descr[0]) != NULL;
    for (size_t i = 0; ordered && i < sizeof known / sizeof known[0]; i++)
        if (strcmp(descr + 1, known[i]) == 0) {
            out->kind = known[i][0];
            out->item_bytes = (uint32_t)(known[i][1] - '0');
            out->big_endian = descr[0] == '>' && out->item_bytes > 1;
            return GNN_OK;
        }
    return gnn_fail(err, GNN_EFORMAT, "%s: dtype '%s' is not supported: %s", path, descr, way_of(descr));
}

static enum gnn_status parse_shape(struct cursor *c, const char *path, struct gnn_npy_header *out, struct gnn_err *err)
{
    bool good = take(c, "(");
    while (good && !take(c, ")")) {
        uint64_t size = 0;
        good = take_number(c, &size);
        if (good && c->at < c->end && *c->at == 'L') /* as Python 2 writes a long integer */
            c->at++;
        if (good && out->dim_count == GNN_NPY_DIMS_MAX)
            return gnn_fail(err, GNN_EFORMAT, "%s: more than %d dimensions: numpy.squeeze(a) removes those of size 1",
                            path, GNN_NPY_DIMS_MAX);
        if (good)
            out->shape[out->dim_count++] = size;
        (void)take(c, ",");
    }
    if (!good)
        return gnn_fail(err, GNN_EFORMAT, "%s: no readable shape in its header", path);
    out->items = 1;
    for (uint32_t i = 0; i < out->dim_count; i++)
        if (__builtin_mul_overflow(out->items, out->shape[i], &out->items))
            return gnn_fail(err, GNN_EFORMAT, "%s: a shape of more than 2^64 numbers", path);
    return GNN_OK;
}

enum gnn_status gnn_npy_parse(const char *text, size_t len, const char *path, struct gnn_npy_header *out,
                              struct gnn_err *err)
{
    *out = (struct gnn_npy_header){0};
    struct cursor c = {text, text + len};
    bool descr = false, order = false, shape = false, good = take(&c, "{");
    while (good && !take(&c, "}")) {
        char key[32];
        good = take_word(&c, key, sizeof key) && take(&c, ":");
        if (good && strcmp(key, "descr") == 0 && !descr) {
            GNN_TRY(parse_descr(&c, path, out, err));
            descr = true;
        } else if (good && strcmp(key, "fortran_order") == 0 && !order) {
            out->fortran = take(&c, "True");
            good = out->fortran || take(&c, "False");
            order = true;
        } else if (good && strcmp(key, "shape") == 0 && !shape) {
            GNN_TRY(parse_shape(&c, path, out, err));
            shape = true;
        } else {
            good = false;
        }
        (void)take(&c, ",");
    }
    skip_blanks(&c);
    if (!good || !descr || !order || !shape || c.at != c.end)
        return gnn_fail(err, GNN_EFORMAT, "%s: its header is not a NumPy dictionary of descr, fortran_order, shape",
                        path);
    out->fortran = out->fortran && out->dim_count == 2 && out->shape[0] > 1 && out->shape[1] > 1;
    if (gnn_mul_bytes(out->items, out->item_bytes) == UINT64_MAX)
        return gnn_fail(err, GNN_EFORMAT, "%s: a shape of more than 2^64 bytes", path);
    return GNN_OK;
}

/* ---- the stream ---- */

static enum gnn_status read_whole(struct gnn_npy *npy, void *dst, uint64_t bytes, struct gnn_err *err)
{
    uint64_t got = 0;
    GNN_TRY(gnn_input_read(npy->input, dst, bytes, &got, err));
    if (got < bytes)
        return gnn_fail(err, GNN_ESHORT, "%s: ends inside its header", npy->input->path);
    return GNN_OK;
}

/* Names what a download may have left in the place of an array. */
static enum gnn_status fail_magic(const char *path, const unsigned char first[8], struct gnn_err *err)
{
    if (memcmp(first, "version ", 8) == 0)
        return gnn_fail(err, GNN_EFORMAT,
                        "%s: not a NumPy file, but a pointer of Git LFS: fetch the file with `git lfs pull`", path);
    if (first[0] == '<')
        return gnn_fail(err, GNN_EFORMAT, "%s: not a NumPy file, but a web page: download it again", path);
    if (memcmp(first, "PK\3\4", 4) == 0)
        return gnn_fail(err, GNN_EFORMAT, "%s: not a NumPy file, but a zip archive: rename it to end in .npz", path);
    return gnn_fail(err, GNN_EFORMAT,
                    "%s: not a NumPy file: its magic number is missing; --raw-rows N --raw-dim D reads features and "
                    "labels that are float32 numbers alone; numpy.save(path, array) writes one",
                    path);
}

static enum gnn_status read_header(struct gnn_npy *npy, struct gnn_err *err)
{
    unsigned char fixed[12];
    char text[GNN_NPY_HEADER_MAX];
    GNN_TRY(read_whole(npy, fixed, 8, err));
    if (memcmp(fixed, "\x93NUMPY", 6) != 0)
        return fail_magic(npy->input->path, fixed, err);
    const unsigned version = fixed[6];
    if (version < 1 || version > 3)
        return gnn_fail(err, GNN_EFORMAT, "%s: NumPy format %u.%u, expected 1.0 to 3.0", npy->input->path, version,
                        fixed[7]);
    const uint32_t length_bytes = version == 1 ? 2 : 4;
    GNN_TRY(read_whole(npy, fixed + 8, length_bytes, err));
    uint32_t len = (uint32_t)fixed[8] | (uint32_t)fixed[9] << 8;
    if (version > 1)
        len |= (uint32_t)fixed[10] << 16 | (uint32_t)fixed[11] << 24;
    if (len > sizeof text)
        return gnn_fail(err, GNN_EFORMAT, "%s: a header of %" PRIu32 " B, at most %zu are expected", npy->input->path,
                        len, sizeof text);
    GNN_TRY(read_whole(npy, text, len, err));
    npy->data_offset = 8 + length_bytes + len;
    assert(npy->header.items == 0);
    return gnn_npy_parse(text, len, npy->input->path, &npy->header, err);
}

/* Gzip data has no reliable size. A size that its bytes cannot unpack to is refused here, before the nodes that the
 * header states take memory or disk. */
static enum gnn_status check_size(const struct gnn_npy *npy, struct gnn_err *err)
{
    const char *path = npy->input->path;
    const uint64_t expected = npy->data_offset + npy->header.items * npy->header.item_bytes;
    uint64_t least, most;
    gnn_input_unpacked_bytes(npy->input, &least, &most);
    if (expected >= least && expected <= most)
        return GNN_OK;
    if (least != most)
        return gnn_fail(err, GNN_ESHORT,
                        "%s: its header requires %" PRIu64 " B, and its %" PRIu64
                        " B of gzip data cannot unpack to more than %" PRIu64 ": the file is truncated or damaged",
                        path, expected, npy->input->size_bytes, most);
    return gnn_fail(err, most < expected ? GNN_ESHORT : GNN_EFORMAT, "%s: %" PRIu64 " B, its header requires %" PRIu64,
                    path, most, expected);
}

/* A table in text is a stream of float64, which holds every label and every float32. */
static enum gnn_status open_text(struct gnn_npy *npy, struct gnn_err *err)
{
    struct gnn_npy_header *const h = &npy->header;
    *h = (struct gnn_npy_header){.kind = 'f', .item_bytes = sizeof(double), .dim_count = 2};
    GNN_TRY(gnn_csv_numbers_open(npy->input->path, &npy->text, &h->shape[0], &h->shape[1], err));
    if (__builtin_mul_overflow(h->shape[0], h->shape[1], &h->items))
        return gnn_fail(err, GNN_EFORMAT, "%s: a table of more than 2^64 numbers", npy->input->path);
    return GNN_OK;
}

enum gnn_status gnn_npy_open(const char *path, struct gnn_npy **out, struct gnn_err *err)
{
    struct gnn_npy *npy;
    GNN_NEW(npy, 1, err, "reader of %s", path);
    enum gnn_status status = gnn_input_open(path, &npy->input, err);
    if (gnn_csv_is_name(path)) {
        GNN_NEXT(status, open_text(npy, err));
        return GNN_OPENED(status, npy, out, gnn_npy_close);
    }
    GNN_NEXT(status, read_header(npy, err));
    GNN_NEXT(status, check_size(npy, err));
    return GNN_OPENED(status, npy, out, gnn_npy_close);
}

static enum gnn_status check_raw_size(const struct gnn_npy *npy, struct gnn_err *err)
{
    const uint64_t expected = gnn_mul_bytes(npy->header.items, npy->header.item_bytes);
    uint64_t least, most;
    gnn_input_unpacked_bytes(npy->input, &least, &most);
    if (most == expected)
        return GNN_OK;
    return gnn_fail(err, most < expected ? GNN_ESHORT : GNN_EFORMAT,
                    "%s: %" PRIu64 " B, expected %" PRIu64 " numbers of %" PRIu32 " B without a header",
                    npy->input->path, most, npy->header.items, npy->header.item_bytes);
}

enum gnn_status gnn_npy_open_raw(const char *path, const struct gnn_npy_header *header, struct gnn_npy **out,
                                 struct gnn_err *err)
{
    struct gnn_npy *npy;
    GNN_NEW(npy, 1, err, "reader of %s", path);
    npy->header = *header;
    enum gnn_status status = gnn_input_open_numbers(path, &npy->input, err);
    GNN_NEXT(status, check_raw_size(npy, err));
    return GNN_OPENED(status, npy, out, gnn_npy_close);
}

enum gnn_status gnn_npy_open_memory(const char *path, const void *bytes, uint64_t len,
                                    const struct gnn_npy_header *header, struct gnn_npy **out, struct gnn_err *err)
{
    struct gnn_npy *npy;
    GNN_NEW(npy, 1, err, "reader of %s", path);
    npy->header = *header;
    enum gnn_status status = gnn_input_open_memory(path, bytes, len, &npy->input, err);
    GNN_NEXT(status, check_raw_size(npy, err));
    return GNN_OPENED(status, npy, out, gnn_npy_close);
}

enum gnn_status gnn_npy_open_as(const char *path, const struct gnn_npy_header *raw, struct gnn_npy **out,
                                struct gnn_err *err)
{
    return raw->item_bytes > 0 ? gnn_npy_open_raw(path, raw, out, err) : gnn_npy_open(path, out, err);
}

bool gnn_npy_has_magic(const char *path)
{
    struct gnn_input *input;
    char magic[6] = "";
    uint64_t got = 0;
    if (gnn_input_open(path, &input, NULL) != GNN_OK)
        return false;
    const bool read = gnn_input_read(input, magic, sizeof magic, &got, NULL) == GNN_OK;
    gnn_input_close(input);
    return read && got == sizeof magic && memcmp(magic, "\x93NUMPY", sizeof magic) == 0;
}

void gnn_npy_close(struct gnn_npy *npy)
{
    if (npy == NULL)
        return;
    gnn_csv_numbers_close(npy->text);
    gnn_input_close(npy->input);
    free(npy->block);
    free(npy);
}

enum gnn_status gnn_npy_skip(struct gnn_npy *npy, uint64_t items, struct gnn_err *err)
{
    assert(npy->text == NULL);
    assert(items <= npy->header.items - npy->read_items);
    npy->read_items += items;
    if (npy->header.fortran)
        return GNN_OK;
    return gnn_input_skip(npy->input, items * npy->header.item_bytes, err);
}

enum gnn_status gnn_npy_window(struct gnn_npy *npy, uint64_t first, const struct gnn_npy_header *header,
                               struct gnn_err *err)
{
    assert(npy->read_items == 0);
    assert(header->item_bytes == npy->header.item_bytes);
    if (first > npy->header.items || header->items > npy->header.items - first)
        return gnn_fail(err, GNN_EFORMAT, "%s: %" PRIu64 " numbers, expected %" PRIu64 " from number %" PRIu64 " on",
                        npy->input->path, npy->header.items, header->items, first);
    npy->data_offset += first * header->item_bytes;
    npy->header = *header;
    npy->window = true;
    return gnn_input_seek(npy->input, npy->data_offset, err);
}

void gnn_npy_read_as_stored(struct gnn_npy *npy)
{
    assert(npy->read_items == 0);
    npy->header.fortran = false;
}

void gnn_npy_set_block(struct gnn_npy *npy, uint64_t bytes)
{
    assert(npy->block == NULL);
    npy->block_bytes = bytes;
}

/* ---- a matrix that is stored column by column ---- */

static enum gnn_status open_block(struct gnn_npy *npy, struct gnn_err *err)
{
    const uint64_t row_bytes = npy->header.shape[1] * npy->header.item_bytes;
    const char *const path = npy->input->path;
    if (!gnn_input_seeks(npy->input))
        return gnn_fail(
            err, GNN_EFORMAT,
            "%s: a compressed matrix in Fortran order cannot be read row by row: unpack it with %s, or save "
            "numpy.ascontiguousarray(a)",
            path, npy->input->member != NULL ? "`unzip`" : "`gunzip`");
    if (npy->block_bytes == 0)
        npy->block_bytes = GNN_NPY_BLOCK;
    if (row_bytes > npy->block_bytes)
        return gnn_fail(err, GNN_EFORMAT,
                        "%s: rows of %" PRIu64 " B in Fortran order, at most %" PRIu64
                        " B are possible: save numpy.ascontiguousarray(a)",
                        path, row_bytes, npy->block_bytes);
    npy->block_bytes = gnn_min_u64(npy->block_bytes, row_bytes * npy->header.shape[0]);
    npy->block = malloc(npy->block_bytes);
    return npy->block != NULL ? GNN_OK : gnn_fail(err, GNN_ENOMEM, "%" PRIu64 " B to turn %s", npy->block_bytes, path);
}

static enum gnn_status short_of(const struct gnn_npy *npy, uint64_t got_items, struct gnn_err *err)
{
    return gnn_fail(err, GNN_ESHORT, "%s: ends after %" PRIu64 " of %" PRIu64 " numbers", npy->input->path, got_items,
                    npy->header.items);
}

/* Reads the rows from `first` on, a piece of each column. */
static enum gnn_status fill_block(struct gnn_npy *npy, uint64_t first, struct gnn_err *err)
{
    const uint64_t rows = npy->header.shape[0], columns = npy->header.shape[1], bytes = npy->header.item_bytes;
    if (npy->block == NULL)
        GNN_TRY(open_block(npy, err));
    npy->block_first = first;
    npy->block_rows = gnn_min_u64(rows - first, npy->block_bytes / (columns * bytes));
    const uint64_t piece = npy->block_rows * bytes;
    for (uint64_t c = 0; c < columns; c++) {
        uint64_t got = 0;
        GNN_TRY(gnn_input_seek(npy->input, npy->data_offset + (c * rows + first) * bytes, err));
        GNN_TRY(gnn_input_read(npy->input, npy->block + c * piece, piece, &got, err));
        if (got < piece)
            return short_of(npy, c * rows + first + got / bytes, err);
    }
    return GNN_OK;
}

/* Copies the next count numbers, row by row, to batch. */
static enum gnn_status turn_batch(struct gnn_npy *npy, uint64_t count, struct gnn_err *err)
{
    const uint64_t columns = npy->header.shape[1], bytes = npy->header.item_bytes;
    uint64_t row = npy->read_items / columns, column = npy->read_items % columns;
    for (uint64_t i = 0; i < count; i++) {
        if (npy->block == NULL || row - npy->block_first >= npy->block_rows)
            GNN_TRY(fill_block(npy, row, err));
        assert(row >= npy->block_first);
        memcpy(npy->batch + i * bytes, npy->block + (column * npy->block_rows + row - npy->block_first) * bytes, bytes);
        if (++column == columns) {
            column = 0;
            row++;
        }
    }
    return GNN_OK;
}

static void swap_bytes(unsigned char *at, uint64_t count, uint32_t item_bytes)
{
    for (uint64_t i = 0; i < count; i++, at += item_bytes)
        for (uint32_t low = 0, high = item_bytes - 1; low < high; low++, high--) {
            const unsigned char held = at[low];
            at[low] = at[high];
            at[high] = held;
        }
}

static enum gnn_status stored_batch(struct gnn_npy *npy, uint64_t count, struct gnn_err *err)
{
    const uint64_t bytes = count * npy->header.item_bytes;
    uint64_t got = 0;
    if (npy->text != NULL) {
        GNN_TRY(gnn_csv_numbers_read(npy->text, (double *)(void *)npy->batch, count, &got, err));
        got *= sizeof(double);
    } else {
        GNN_TRY(gnn_input_read(npy->input, npy->batch, bytes, &got, err));
    }
    return got == bytes ? GNN_OK : short_of(npy, npy->read_items + got / npy->header.item_bytes, err);
}

/* Fills npy->batch with the next count items. */
static enum gnn_status read_batch(struct gnn_npy *npy, uint64_t count, struct gnn_err *err)
{
    assert(count <= GNN_NPY_BATCH);
    assert(npy->read_items <= npy->header.items);
    assert(count <= npy->header.items - npy->read_items);
    GNN_TRY(npy->header.fortran ? turn_batch(npy, count, err) : stored_batch(npy, count, err));
    npy->read_items += count;
    if (npy->header.big_endian)
        swap_bytes(npy->batch, count, npy->header.item_bytes);
    return GNN_OK;
}

static double half_to_double(uint16_t half)
{
    const int exponent = (half >> 10) & 31, fraction = half & 1023;
    double value;
    if (exponent == 31)
        value = fraction != 0 ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        value = ldexp(fraction, -24);
    else
        value = ldexp(1024 + fraction, exponent - 25);
    return half & 0x8000 ? -value : value;
}

static double float_at(const struct gnn_npy *npy, uint64_t index)
{
    assert(npy->header.kind == 'f');
    assert(index < GNN_NPY_BATCH);
    const unsigned char *at = npy->batch + index * npy->header.item_bytes;
    double wide;
    float single;
    uint16_t half;
    switch (npy->header.item_bytes) {
    case 8:
        memcpy(&wide, at, sizeof wide);
        return wide;
    case 4:
        memcpy(&single, at, sizeof single);
        return (double)single;
    default:
        memcpy(&half, at, sizeof half);
        return half_to_double(half);
    }
}

/* Bits of an integer, sign-extended if signed. */
static uint64_t integer_at(const struct gnn_npy *npy, uint64_t index)
{
    const unsigned bytes = npy->header.item_bytes;
    assert(bytes >= 1);
    assert(bytes <= 8);
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)npy->batch[index * bytes + i] << (8 * i);
    if (npy->header.kind == 'i' && bytes < 8 && (value >> (8 * bytes - 1)) != 0)
        value |= UINT64_MAX << (8 * bytes);
    return value;
}

static enum gnn_status i64_at(const struct gnn_npy *npy, uint64_t index, uint64_t item, int64_t *out,
                              struct gnn_err *err)
{
    if (npy->header.kind != 'f') {
        const uint64_t bits = integer_at(npy, index);
        if (npy->header.kind != 'i' && bits > INT64_MAX)
            return gnn_fail(err, GNN_EFORMAT, "%s: number %" PRIu64 " is %" PRIu64 ", which is too large",
                            npy->input->path, item, bits);
        *out = (int64_t)bits;
        return GNN_OK;
    }
    const double value = float_at(npy, index);
    *out = GNN_NPY_NAN;
    if (isnan(value))
        return GNN_OK;
    if (!(fabs(value) <= 0x1p62) || value != floor(value))
        return gnn_fail(err, GNN_EFORMAT, "%s: number %" PRIu64 " is %g, expected an integer", npy->input->path, item,
                        value);
    const uint32_t bytes = npy->header.item_bytes;
    const double exact = bytes == 2 ? 0x1p11 : bytes == 4 ? 0x1p24 : 0x1p53;
    if (fabs(value) >= exact)
        return gnn_fail(err, GNN_EFORMAT,
                        "%s: number %" PRIu64 " is %.0f, and float%" PRIu32
                        " rounds whole numbers from %.0f on: save the array as int64 where it is made, before any "
                        "conversion to float%" PRIu32,
                        npy->input->path, item, value, bytes * 8, exact, bytes * 8);
    *out = (int64_t)value;
    return GNN_OK;
}

enum gnn_status gnn_npy_read_i64(struct gnn_npy *npy, int64_t *out, uint64_t count, struct gnn_err *err)
{
    const uint64_t first = npy->read_items;
    GNN_TRY(read_batch(npy, count, err));
    if (npy->header.kind == 'i' && npy->header.item_bytes == 8) {
        memcpy(out, npy->batch, count * sizeof *out);
        return GNN_OK;
    }
    for (uint64_t i = 0; i < count; i++)
        GNN_TRY(i64_at(npy, i, first + i, &out[i], err));
    return GNN_OK;
}

enum gnn_status gnn_npy_read_f32(struct gnn_npy *npy, float *out, uint64_t count, struct gnn_err *err)
{
    GNN_TRY(read_batch(npy, count, err));
    if (npy->header.kind == 'f' && npy->header.item_bytes == 4) {
        memcpy(out, npy->batch, count * sizeof *out);
        return GNN_OK;
    }
    for (uint64_t i = 0; i < count; i++) {
        if (npy->header.kind == 'f')
            out[i] = (float)float_at(npy, i);
        else if (npy->header.kind == 'i')
            out[i] = (float)(int64_t)integer_at(npy, i);
        else
            out[i] = (float)integer_at(npy, i);
    }
    return GNN_OK;
}

enum gnn_status gnn_npy_expect_end(struct gnn_npy *npy, struct gnn_err *err)
{
    assert(npy->read_items == npy->header.items);
    if (npy->header.fortran || npy->window)
        return GNN_OK; /* its size was compared when it was opened */
    char extra;
    double number;
    uint64_t got = 0;
    if (npy->text != NULL)
        GNN_TRY(gnn_csv_numbers_read(npy->text, &number, 1, &got, err));
    else
        GNN_TRY(gnn_input_read(npy->input, &extra, 1, &got, err));
    if (got > 0 && npy->text != NULL)
        return gnn_fail(err, GNN_EFORMAT,
                        "%s: more rows than the %" PRIu64 " that num-node-list.csv next to it states: download both "
                        "again, or remove num-node-list.csv",
                        npy->input->path, npy->header.shape[0]);
    if (got > 0)
        return gnn_fail(err, GNN_EFORMAT, "%s: data follows the %" PRIu64 " numbers of its header", npy->input->path,
                        npy->header.items);
    return GNN_OK;
}
