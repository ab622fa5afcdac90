/* SPDX-License-Identifier: MIT */
/* Traces: what several streams append comes back to the byte, whatever the block size, record lengths, depth and
 * alignment; files that end anywhere are streamed whole; nothing is left in the directory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/base/rng.h"
#include "harness/storage/stream.h"
#include "tests/support/data_files.h"
#include "tests/support/fixture.h"
#include "tests/support/hang.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STREAMS = 3, RECORDS = 40, RECORD_MAX = 30000 };

static uint64_t seed = 1;

static unsigned char byte_of(uint32_t stream, uint32_t record, uint64_t at)
{
    return (unsigned char)gnn_splitmix64_at(seed ^ stream << 20 ^ record, at);
}

/* Streams have no name: nothing is left in the directory. */
static void close_empty(struct fixture *p)
{
    assert_int_equal(data_entries(p->scratch.dir), 0);
    fixture_close(p);
}

/* ---- written and read ---- */

struct written {
    struct gnn_stream_file *trace;
    struct gnn_stream *streams[STREAMS];
    struct gnn_span records[STREAMS * RECORDS]; /* tag: stream << 16 | record */
    uint32_t next;
};

static uint64_t length_of(struct gnn_rng *rng)
{
    const uint64_t kind = gnn_rng_below(rng, 6);
    return kind == 0   ? 0
           : kind == 1 ? 4096 * gnn_rng_below(rng, 8)
           : kind == 2 ? 1 + gnn_rng_below(rng, 16)
                       : gnn_rng_below(rng, RECORD_MAX);
}

static void write_all(struct fixture *p, bool direct, uint32_t block_bytes, struct written *w)
{
    static unsigned char data[RECORD_MAX];
    struct gnn_rng rng = gnn_rng_at(seed);
    const struct gnn_stream_file_config config = {.dir = p->scratch.dir, .direct = direct, .block_bytes = block_bytes};
    *w = (struct written){.next = 0};
    must(gnn_stream_file_open(p->world, &config, &w->trace, &p->err), &p->err);
    for (uint32_t s = 0; s < STREAMS; s++)
        must(gnn_stream_open(w->trace, &w->streams[s], &p->err), &p->err);
    for (uint32_t r = 0; r < RECORDS; r++)
        for (uint32_t s = 0; s < STREAMS; s++) {
            struct gnn_span *const span = &w->records[r * STREAMS + s];
            *span = (struct gnn_span){.stream = w->streams[s], .len_bytes = length_of(&rng), .tag = s << 16 | r};
            must(gnn_stream_begin(w->streams[s], &span->offset_bytes, &p->err), &p->err);
            assert_int_equal(span->offset_bytes % GNN_PAGE_BYTES, 0);
            for (uint64_t i = 0; i < span->len_bytes; i++)
                data[i] = byte_of(s, r, i);
            const uint64_t half = span->len_bytes / 2;
            must(gnn_stream_append(w->streams[s], data, half, &p->err), &p->err);
            if (gnn_rng_below(&rng, 4) == 0)
                must(gnn_stream_flush(w->streams[s], &p->err), &p->err);
            must(gnn_stream_append(w->streams[s], data + half, span->len_bytes - half, &p->err), &p->err);
        }
    for (uint32_t s = 0; s < STREAMS; s++)
        must(s == 0 ? gnn_stream_seal(w->streams[s], &p->err) : gnn_stream_flush(w->streams[s], &p->err), &p->err);
    struct gnn_stream_file_counters counters;
    gnn_stream_file_counters(w->trace, &counters);
    uint64_t bytes = 0;
    for (uint32_t s = 0; s < STREAMS; s++)
        bytes += gnn_stream_bytes(w->streams[s]);
    assert_in_range(bytes, 1, counters.written_bytes);
    assert_int_equal(counters.file_bytes % block_bytes, 0);
    assert_in_range(counters.file_bytes, bytes, bytes + STREAMS * (uint64_t)block_bytes);
}

static void close_written(struct written *w)
{
    for (uint32_t s = 0; s < STREAMS; s++)
        gnn_stream_close(w->streams[s]);
    gnn_stream_file_close(w->trace);
}

static void check_record(const struct gnn_span *span, const unsigned char *data)
{
    const uint32_t s = (uint32_t)(span->tag >> 16), r = (uint32_t)span->tag & 0xffff;
    for (uint64_t i = 0; i < span->len_bytes; i++)
        if (data[i] != byte_of(s, r, i))
            fail_msg("seed %lu: stream %u record %u byte %lu", (unsigned long)seed, s, r, (unsigned long)i);
}

static bool next_record(void *ctx, struct gnn_span *out)
{
    struct written *const w = ctx;
    if (w->next == STREAMS * RECORDS)
        return false;
    *out = w->records[w->next++];
    return true;
}

static void read_ahead(struct fixture *p, struct written *w, uint32_t depth)
{
    const struct gnn_span_reader_config config = {.engine = GNN_RING_POOL,
                                                  .file = gnn_stream_file_handle(w->trace),
                                                  .depth = depth,
                                                  .span_bytes_max = RECORD_MAX + GNN_PAGE_BYTES};
    struct gnn_span_reader *reader;
    struct gnn_span none;
    void *nothing;
    must(gnn_span_reader_open(p->world, &config, &reader, &p->err), &p->err);
    must(gnn_span_reader_next(reader, &none, &nothing, &p->err), &p->err);
    assert_null(nothing);                  /* nothing was started */
    for (int pass = 0; pass < 2; pass++) { /* the first is given up half way */
        w->next = 0;
        gnn_span_reader_start(reader, next_record, w);
        uint32_t count = 0;
        for (;; count++) {
            struct gnn_span span;
            void *data;
            must(gnn_span_reader_next(reader, &span, &data, &p->err), &p->err);
            if (data == NULL || (pass == 0 && count == RECORDS))
                break;
            assert_int_equal(span.tag, w->records[count].tag);
            check_record(&span, data);
        }
        assert_int_equal(count, pass == 0 ? RECORDS : STREAMS * RECORDS);
    }
    gnn_span_reader_close(reader);
}

static void read_together(struct fixture *p, const struct written *w, uint32_t depth)
{
    enum { TOGETHER = 5, ROOM = 32768 + GNN_PAGE_BYTES };
    struct gnn_file *const file = gnn_stream_file_handle(w->trace);
    const struct gnn_reader_config config = {.engine = GNN_RING_POOL, .depth = depth, .files = &file, .file_count = 1};
    struct gnn_reader *reader;
    void *memory, *dst[TOGETHER];
    must(gnn_reader_open(p->world, &config, &reader, &p->err), &p->err);
    must(gnn_mem_alloc(p->world, "test", TOGETHER * ROOM, GNN_MEM_PLAIN, &memory, &p->err), &p->err);
    for (uint32_t i = 0; i < TOGETHER; i++)
        dst[i] = (char *)memory + (size_t)i * ROOM;
    for (uint32_t first = 0; first < STREAMS * RECORDS; first += TOGETHER) {
        must(gnn_stream_load(reader, w->records + first, dst, TOGETHER, &p->err), &p->err);
        for (uint32_t i = 0; i < TOGETHER; i++)
            check_record(&w->records[first + i], dst[i]);
    }
    gnn_mem_free(p->world, memory);
    gnn_reader_close(reader);
}

static void test_what_goes_in_comes_out(void **state)
{
    (void)state;
    static const uint32_t blocks[] = {4096, 8192, 65536};
    static const struct gnn_fault_plan rough = {.seed = 3,
                                                .read_short_probability = 0.3,
                                                .read_again_probability = 0.2,
                                                .write_short_probability = 0.3,
                                                .shuffle = true};
    for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++)
        for (int variant = 0; variant < 4; variant++) {
            const bool direct = variant % 2 == 1;
            struct fixture p;
            struct written w;
            fixture_open(&p, .scratch = true, .faults = variant >= 2 ? &rough : NULL);
            if (direct && !p.direct) {
                leave_out("direct I/O: not on this file system");
            } else {
                write_all(&p, direct, blocks[b], &w);
                read_ahead(&p, &w, 1 + (uint32_t)b * 4);
                read_together(&p, &w, 1 + (uint32_t)b * 3);
                close_written(&w);
            }
            close_empty(&p);
            seed++;
        }
}

/* ---- ordinary files ---- */

struct walk {
    const struct gnn_stream *stream;
    uint64_t at_bytes, step_bytes;
};

static bool next_step(void *ctx, struct gnn_span *out)
{
    struct walk *const walk = ctx;
    const uint64_t left = gnn_stream_bytes(walk->stream) - walk->at_bytes;
    if (left == 0)
        return false;
    *out = (struct gnn_span){.stream = walk->stream,
                             .offset_bytes = walk->at_bytes,
                             .len_bytes = left < walk->step_bytes ? left : walk->step_bytes};
    walk->at_bytes += out->len_bytes;
    return true;
}

static void test_files_of_any_length_are_walked_whole(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {4, 4092, 4096, 4100, 65536, 131072 + 512, 300004};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (int direct = 0; direct < 2; direct++) {
            struct fixture p;
            char path[512];
            fixture_open(&p, .scratch = true);
            if (!direct || p.direct) {
                io_scratch_fill(&p.scratch, "numbers", lengths[i]);
                struct gnn_file *file;
                struct gnn_stream *stream;
                struct gnn_span_reader *reader;
                must(gnn_file_open(p.world, io_scratch_path(&p.scratch, "numbers", path),
                                   direct ? GNN_OPEN_DIRECT : GNN_OPEN_READ, &file, &p.err),
                     &p.err);
                must(gnn_stream_attach(p.world, file, lengths[i], &stream, &p.err), &p.err);
                const struct gnn_span_reader_config config = {
                    .engine = GNN_RING_POOL, .file = file, .depth = 3, .span_bytes_max = 65536};
                must(gnn_span_reader_open(p.world, &config, &reader, &p.err), &p.err);
                struct walk walk = {.stream = stream, .step_bytes = 65536};
                gnn_span_reader_start(reader, next_step, &walk);
                uint64_t seen = 0;
                for (;;) {
                    struct gnn_span span;
                    void *data;
                    must(gnn_span_reader_next(reader, &span, &data, &p.err), &p.err);
                    if (data == NULL)
                        break;
                    assert_int_equal(span.offset_bytes, seen);
                    for (uint64_t at = 0; at < span.len_bytes; at += 4)
                        assert_int_equal(((const uint32_t *)data)[at / 4], io_scratch_value((seen + at) / 4));
                    seen += span.len_bytes;
                }
                assert_int_equal(seen, lengths[i]);
                gnn_span_reader_close(reader);
                gnn_stream_close(stream);
                gnn_file_close(p.world, file);
                assert_int_equal(unlink(path), 0);
            }
            close_empty(&p);
        }
}

/* A span over the border of two blocks is one read where they lie one behind the other in the file, and two where
 * another stream took the place between. */
static void test_blocks_side_by_side_are_one_read(void **state)
{
    (void)state;
    enum { BLOCK = 8192, BLOCKS = 6 };
    static const uint64_t expected_ios[] = {1, 2}; /* alone; another block between each two */
    for (uint32_t others = 0; others < 2; others++) {
        struct fixture p;
        struct gnn_stream_file *trace;
        struct gnn_stream *streams[2];
        static unsigned char data[BLOCK];
        fixture_open(&p, .scratch = true);
        const struct gnn_stream_file_config file = {.dir = p.scratch.dir, .block_bytes = BLOCK};
        must(gnn_stream_file_open(p.world, &file, &trace, &p.err), &p.err);
        for (uint32_t s = 0; s < 2; s++)
            must(gnn_stream_open(trace, &streams[s], &p.err), &p.err);
        for (uint32_t b = 0; b < BLOCKS; b++)
            for (uint32_t s = 0; s <= others; s++) {
                memset(data, (int)(s * BLOCKS + b), sizeof data);
                must(gnn_stream_append(streams[s], data, sizeof data, &p.err), &p.err);
            }
        const struct gnn_reader_config config = {.engine = GNN_RING_POOL,
                                                 .depth = 8,
                                                 .files = (struct gnn_file *[]){gnn_stream_file_handle(trace)},
                                                 .file_count = 1};
        struct gnn_reader *reader;
        must(gnn_reader_open(p.world, &config, &reader, &p.err), &p.err);
        void *dst = aligned_alloc(GNN_PAGE_BYTES, BLOCK);
        assert_non_null(dst);
        const struct gnn_span span = {.stream = streams[0], .offset_bytes = BLOCK / 2, .len_bytes = BLOCK};
        must(gnn_stream_load(reader, &span, &dst, 1, &p.err), &p.err);
        for (uint64_t i = 0; i < span.len_bytes; i++)
            assert_int_equal(((unsigned char *)dst)[i], (BLOCK / 2 + i) / BLOCK);
        struct gnn_reader_counters counters;
        gnn_reader_counters(reader, &counters);
        assert_int_equal(counters.requested_ios, expected_ios[others]);
        assert_int_equal(counters.requested_bytes, span.len_bytes);
        free(dst);
        gnn_reader_close(reader);
        for (uint32_t s = 0; s < 2; s++)
            gnn_stream_close(streams[s]);
        gnn_stream_file_close(trace);
        close_empty(&p);
    }
}

/* ---- refusals ---- */

static void test_a_full_disk_is_said_and_survived(void **state)
{
    (void)state;
    struct fixture p;
    fixture_open(&p, .scratch = true,
                 .faults =
                     &(struct gnn_fault_plan){.seed = 1, .write_enospc = true, .write_enospc_after_bytes = 20000});
    struct gnn_stream_file *trace;
    struct gnn_stream *stream;
    static const unsigned char data[65536];
    must(gnn_stream_file_open(p.world, &(struct gnn_stream_file_config){.dir = p.scratch.dir, .block_bytes = 8192},
                              &trace, &p.err),
         &p.err);
    must(gnn_stream_open(trace, &stream, &p.err), &p.err);
    assert_int_equal(gnn_stream_append(stream, data, sizeof data, &p.err), GNN_ENOSPC);
    gnn_stream_close(stream);
    gnn_stream_file_close(trace);
    close_empty(&p);
}

static void test_blocks_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    static const uint32_t blocks[] = {0, 512, 4097, 6144};
    struct fixture p;
    fixture_open(&p, .scratch = true);
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        struct gnn_stream_file *trace = NULL;
        struct gnn_err err = {0};
        assert_int_equal(gnn_stream_file_open(
                             p.world, &(struct gnn_stream_file_config){.dir = p.scratch.dir, .block_bytes = blocks[i]},
                             &trace, &err),
                         GNN_EUSAGE);
        assert_null(trace);
    }
    close_empty(&p);
}

static void test_a_failed_read_is_an_error_not_a_hang(void **state)
{
    (void)state;
    for (uint64_t at = 1; at < 12; at += 3) {
        struct fixture p;
        struct written w;
        fixture_open(&p, .scratch = true, .faults = &(struct gnn_fault_plan){.seed = 1, .read_eio_at = at});
        write_all(&p, false, 8192, &w);
        const struct gnn_span_reader_config config = {
            .engine = GNN_RING_POOL, .file = gnn_stream_file_handle(w.trace), .depth = 4, .span_bytes_max = RECORD_MAX};
        struct gnn_span_reader *reader;
        must(gnn_span_reader_open(p.world, &config, &reader, &p.err), &p.err);
        gnn_span_reader_start(reader, next_record, &w);
        enum gnn_status status = GNN_OK;
        void *data = &p;
        for (struct gnn_span span; status == GNN_OK && data != NULL;)
            status = gnn_span_reader_next(reader, &span, &data, &p.err);
        assert_int_equal(status, GNN_EIO);
        gnn_span_reader_close(reader);
        close_written(&w);
        close_empty(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_goes_in_comes_out),
        cmocka_unit_test(test_files_of_any_length_are_walked_whole),
        cmocka_unit_test(test_blocks_side_by_side_are_one_read),
        cmocka_unit_test(test_a_full_disk_is_said_and_survived),
        cmocka_unit_test(test_blocks_that_do_not_fit_are_refused),
        cmocka_unit_test(test_a_failed_read_is_an_error_not_a_hang),
    };
    end_a_hang();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
