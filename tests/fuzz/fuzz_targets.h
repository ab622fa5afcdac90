/* SPDX-License-Identifier: MIT */
/* One function per format that reads bytes from outside: any bytes must end in a value or an error, never in
 * undefined behaviour. Shared by the bounded fuzzer of the quick suite (test_fuzz_formats.c) and libFuzzer
 * (fuzz_formats.c, `make fuzz`). What both begin with, and every input that once went wrong, is in corpus/NAME. */
#ifndef GNN_TESTS_FUZZ_TARGETS_H
#define GNN_TESTS_FUZZ_TARGETS_H

#include "harness/base/ini.h"
#include "harness/base/units.h"
#include "harness/cli/commands.h"
#include "harness/dataset/csv_numbers.h"
#include "harness/dataset/edges.h"
#include "harness/dataset/prepare.h"
#include "harness/dataset/recipe_file.h"
#include "harness/dataset/triples.h"
#include "harness/fio/fio.h"
#include "harness/run/fault_option.h"
#include "harness/storage/meta.h"
#include "harness/world/profile.h"
#include "systems/agnes/agnes.h"
#include "systems/ginex/superbatch.h"
#include "tests/support/process.h"
#include "tests/support/sim_profile.h"
#include "tests/support/sim_world.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what targets share ---- */

/* The bytes with a NUL behind them, to be freed. */
static inline char *fuzz_text(const unsigned char *data, size_t len)
{
    char *const text = malloc(len + 1);
    assert(text != NULL);
    memcpy(text, data, len);
    text[len] = '\0';
    return text;
}

/* A directory of this process's own, in memory where there is one; removed when the process ends. */
static char fuzz_dir_path[512];
static inline void fuzz_dir_remove(void)
{
    process_remove_tree(fuzz_dir_path);
}
static inline const char *fuzz_dir(void)
{
    if (fuzz_dir_path[0] != '\0')
        return fuzz_dir_path;
    if (access("/dev/shm", W_OK) == 0 && getenv("TMPDIR") == NULL)
        (void)setenv("TMPDIR", "/dev/shm", 0);
    char *const dir = process_temp_dir();
    (void)snprintf(fuzz_dir_path, sizeof fuzz_dir_path, "%s", dir);
    free(dir);
    (void)atexit(fuzz_dir_remove);
    return fuzz_dir_path;
}

static inline void fuzz_write(const char *path, const void *data, size_t len)
{
    FILE *const file = fopen(path, "wb");
    assert(file != NULL);
    assert(fwrite(data, 1, len, file) == len);
    assert(fclose(file) == 0);
}

/* ---- formats ---- */

/* A meta that parses is written, parsed again and equal. */
static inline void fuzz_meta(const unsigned char *data, size_t len)
{
    struct gnn_meta *meta = malloc(2 * sizeof *meta);
    char *text = malloc(2 * GNN_META_TEXT_MAX);
    struct gnn_err err = {0};
    assert(meta != NULL && text != NULL);
    if (gnn_meta_parse((const char *)data, len, "meta", &meta[0], &err) == GNN_OK) {
        assert(gnn_meta_format(&meta[0], text, 2 * GNN_META_TEXT_MAX, &err) == GNN_OK);
        assert(gnn_meta_parse(text, strlen(text), "meta", &meta[1], &err) == GNN_OK);
        assert(memcmp(&meta[0], &meta[1], sizeof *meta) == 0);
    } else {
        assert(err.message[0] != '\0');
    }
    free(text);
    free(meta);
}

/* A header that parses has a size that is consistent and cannot overflow. */
static inline void fuzz_npy(const unsigned char *data, size_t len)
{
    struct gnn_npy_header header;
    struct gnn_err err = {0};
    if (gnn_npy_parse((const char *)data, len, "f.npy", &header, &err) == GNN_OK) {
        uint64_t items = 1;
        assert(header.dim_count <= GNN_NPY_DIMS_MAX && header.item_bytes >= 1 && header.item_bytes <= 8);
        for (uint32_t i = 0; i < header.dim_count; i++)
            items *= header.shape[i];
        assert(items == header.items && gnn_mul_bytes(items, header.item_bytes) != UINT64_MAX);
    } else {
        assert(err.message[0] != '\0');
    }
}

/* A text edge list, read to its end: pairs within the counts of a matrix, or an error. */
static inline void fuzz_edge_list(const char *name, const unsigned char *data, size_t len)
{
    char path[700];
    struct gnn_edge_text *text = NULL;
    struct gnn_err err = {0};
    (void)snprintf(path, sizeof path, "%s/%s", fuzz_dir(), name);
    fuzz_write(path, data, len);
    assert(gnn_edge_text_open(path, &text, &err) == GNN_OK);
    enum gnn_status status = GNN_OK;
    uint64_t pairs = 0;
    for (bool more = true; more && status == GNN_OK;) {
        uint64_t source = 0, target = 0;
        status = gnn_edge_text_next(text, &source, &target, &more, &err);
        if (status != GNN_OK || !more)
            break;
        pairs++;
        assert(!text->facts.matrix || (source < text->facts.nodes && target < text->facts.nodes));
    }
    assert((status == GNN_OK) == (err.message[0] == '\0'));
    assert(pairs <= 2 * text->lines &&
           (!text->facts.matrix || status != GNN_OK || text->lines == 0 || text->lines == text->facts.edges));
    gnn_edge_text_close(text);
}

static inline void fuzz_snap(const unsigned char *data, size_t len)
{
    fuzz_edge_list("edges.txt", data, len);
}

static inline void fuzz_matrix(const unsigned char *data, size_t len)
{
    fuzz_edge_list("edges.mtx", data, len);
}

/* A table of numbers, read to its end: whole rows, or an error. */
static inline void fuzz_csv(const unsigned char *data, size_t len)
{
    char path[700];
    struct gnn_csv_numbers *numbers = NULL;
    struct gnn_err err = {0};
    uint64_t rows = 0, columns = 0, got = 0, count = 0;
    (void)snprintf(path, sizeof path, "%s/table.csv", fuzz_dir());
    fuzz_write(path, data, len);
    if (gnn_csv_numbers_open(path, &numbers, &rows, &columns, &err) != GNN_OK) {
        assert(err.message[0] != '\0' && numbers == NULL);
        return;
    }
    do {
        double batch[7];
        assert(gnn_csv_numbers_read(numbers, batch, 7, &got, &err) == GNN_OK);
        count += got;
    } while (got > 0);
    assert(rows > 0 && columns > 0 && count == rows * columns);
    gnn_csv_numbers_close(numbers);
}

/* Fields that are found lie in the line, one after another, are not empty and hold no tab. */
static inline void fuzz_triple(const unsigned char *data, size_t len)
{
    char line[GNN_INPUT_LINE_MAX];
    struct gnn_triple_line fields;
    const char *why = NULL;
    len = len < sizeof line - 1 ? len : sizeof line - 1;
    memcpy(line, data, len);
    line[len] = '\0';
    const enum gnn_triple_kind kind = gnn_triple_parse_line(line, GNN_COLUMNS_HRT, &fields, &why);
    assert((kind == GNN_TRIPLE_BAD) == (why != NULL));
    const char *at = line;
    for (int f = 0; f < 3 && kind == GNN_TRIPLE_FIELDS; f++) {
        uint32_t number;
        assert(fields.field[f] == at && fields.length[f] > 0 && memchr(at, '\t', fields.length[f]) == NULL);
        assert(!gnn_triple_number(at, fields.length[f], 1000, &number) || number < 1000);
        at += fields.length[f] + 1;
        assert((size_t)(at - line) <= strlen(line) + 1);
    }
}

/* A profile that parses has figures that nobody divides by 0 with, and parses again to the same digest. */
static inline void fuzz_profile(const unsigned char *data, size_t len)
{
    char *text = malloc(len + 1);
    struct gnn_profile *profile = NULL, *again = NULL;
    struct gnn_err err = {0};
    assert(text != NULL);
    memcpy(text, data, len);
    text[len] = '\0';
    if (gnn_profile_parse("/nowhere/fuzz.ini", text, &profile, &err) == GNN_OK) {
        const struct gnn_profile_storage *st = &profile->storage;
        assert(profile->cpu.cores > 0 && st->devices > 0 && st->write_iops > 0 && st->write_bytes_per_s > 0);
        assert(profile->host.bytes_per_s > 0 && profile->host.gemm_flops_per_s > 0);
        assert(st->size_count >= 1 && st->size_count <= GNN_PROFILE_SIZES_MAX);
        assert(st->depth_count >= 1 && st->depth_count <= GNN_PROFILE_DEPTHS_MAX && st->depth[0] == 1);
        for (uint32_t s = 0; s < st->size_count; s++)
            for (uint32_t d = 0; d < st->depth_count; d++)
                assert(st->read_ps[s][d] > 0 && (st->scattered_ps[s][d] > 0) == (st->scattered_ps[s][0] > 0));
        assert(gnn_profile_parse("/nowhere/fuzz.ini", text, &again, &err) == GNN_OK);
        assert(memcmp(profile, again, sizeof *profile) == 0);
    } else {
        assert(err.message[0] != '\0');
    }
    gnn_profile_close(again);
    gnn_profile_close(profile);
    free(text);
}

/* A profile whose costs stand in the bytes. */
static inline void fuzz_costs(const unsigned char *data, size_t len)
{
    static const char profile_text[] =
        "[machine]\nmachine_id = f\ntitle = t\nmemory = 8G stated\nprocess = 1M stated\n[storage]\ndevices = 1 stated\n"
        "stripe = 64K stated\nsector = 512 stated\ndepth_max = 32 stated\nwrite_latency = 40us assumed\nwrite_iops = "
        "2k/s stated\nwrite_bandwidth = 4MB/s stated\nreadahead = 0 assumed\nread_latency = 80us stated\nread_iops = "
        "9k/s stated\nread_bandwidth = 5MB/s stated\n[cpu]\ncores = 4 stated\nclock = 2.6GHz stated\ncosts = "
        "costs.ini\n[host]\ngemm = 1GFLOP/s derived\nbandwidth = 1GB/s assumed\nbandwidth_shared = 4GB/s derived\n"
        "gather = 4GB/s assumed\nlaunch = 2ns assumed\n";
    char path[600];
    struct gnn_profile *profile = NULL;
    struct gnn_err err = {0};
    (void)snprintf(path, sizeof path, "%s/costs.ini", fuzz_dir());
    fuzz_write(path, data, len);
    (void)snprintf(path, sizeof path, "%s/fuzz.ini", fuzz_dir());
    if (gnn_profile_parse(path, profile_text, &profile, &err) != GNN_OK)
        assert(err.message[0] != '\0');
    gnn_profile_close(profile);
}

/* Every entry of a text that parses is found under its key. */
static inline void fuzz_ini(const unsigned char *data, size_t len)
{
    char *const text = fuzz_text(data, len);
    struct gnn_ini *ini = NULL;
    struct gnn_err err = {0};
    if (gnn_ini_parse("fuzz.ini", text, &ini, &err) == GNN_OK) {
        for (uint32_t s = 0; s < gnn_ini_section_count(ini); s++) {
            const struct gnn_ini_section *const section = gnn_ini_section(ini, s);
            for (uint32_t e = 0; e < section->entry_count; e++)
                assert(gnn_ini_find(section, section->entries[e].key) == &section->entries[e]);
        }
    } else {
        assert(err.message[0] != '\0');
    }
    gnn_ini_close(ini);
    free(text);
}

/* A recipe that parses is written and parses again to the same laws, which ascend to 1 and fall. */
static inline void fuzz_recipe(const unsigned char *data, size_t len)
{
    char *const text = fuzz_text(data, len);
    char *written = NULL;
    size_t bytes = 0;
    struct gnn_recipe_file *file = NULL, *again = NULL;
    struct gnn_err err = {0};
    if (gnn_recipe_file_parse("fuzz.ini", text, &file, &err) == GNN_OK) {
        const struct gnn_rank_law *const law = &file->laws.degrees;
        assert(file->entry.nodes >= 8 && law->count <= GNN_LAW_POINTS_MAX);
        assert(law->count == 0 || (law->upto[law->count - 1] == 1 && law->mean[law->count - 1] >= 0));
        FILE *const out = open_memstream(&written, &bytes);
        assert(out != NULL);
        gnn_recipe_file_write(file, "again", out);
        assert(fclose(out) == 0);
        if (gnn_recipe_file_parse("again.ini", written, &again, &err) == GNN_OK) /* digits beyond seven are lost */
            assert(again->entry.nodes == file->entry.nodes && again->laws.degrees.count == law->count);
    } else {
        assert(err.message[0] != '\0');
    }
    free(written);
    free(again);
    free(file);
    free(text);
}

/* A job file is expanded to its plan, which is printed; nothing is run. */
static inline void fuzz_job(const unsigned char *data, size_t len)
{
    char path[600], command[] = "sweep", dry[] = "--dry-run";
    char *argv[] = {command, path, dry, NULL};
    (void)snprintf(path, sizeof path, "%s/job.ini", fuzz_dir());
    fuzz_write(path, data, len);
    const int nowhere = open("/dev/null", O_WRONLY);
    const int kept[] = {dup(STDOUT_FILENO), dup(STDERR_FILENO)};
    (void)fflush(stdout);
    (void)dup2(nowhere, STDOUT_FILENO);
    (void)dup2(nowhere, STDERR_FILENO);
    const int end = gnn_cmd_sweep(3, argv);
    (void)fflush(stdout);
    (void)dup2(kept[0], STDOUT_FILENO);
    (void)dup2(kept[1], STDERR_FILENO);
    (void)close(kept[0]);
    (void)close(kept[1]);
    (void)close(nowhere);
    assert(end >= 0 && end <= 4);
}

static inline void fuzz_fio(const unsigned char *data, size_t len)
{
    char *const text = fuzz_text(data, len);
    struct gnn_fio_report *const report = malloc(sizeof *report);
    struct gnn_err err = {0};
    assert(report != NULL);
    if (gnn_fio_parse(text, report, &err) == GNN_OK) {
        assert(report->count >= 1 && report->count <= GNN_FIO_JOBS_MAX && strlen(report->version) > 0);
        for (uint32_t i = 0; i < report->count; i++) {
            const struct gnn_fio_job *const job = &report->jobs[i];
            const double figures[] = {job->read_iops,  job->read_bytes_per_s,  job->read_latency_ns,
                                      job->write_iops, job->write_bytes_per_s, job->write_latency_ns,
                                      job->write_bytes};
            for (size_t f = 0; f < sizeof figures / sizeof *figures; f++)
                assert(isfinite(figures[f]) && figures[f] >= 0);
        }
    } else {
        assert(err.message[0] != '\0' && report->count == 0);
    }
    free(report);
    free(text);
}

/* What is printed in plain digits is read as the same number. */
static inline void fuzz_units(const unsigned char *data, size_t len)
{
    char *const text = fuzz_text(data, len), again[64];
    struct gnn_err err = {0};
    uint64_t value, read;
    uint32_t divisor, divisor_read, values[GNN_LAYERS_MAX], count;
    if (gnn_parse_bytes(text, &value, &err) == GNN_OK) {
        (void)snprintf(again, sizeof again, "%" PRIu64, value);
        assert(gnn_parse_bytes(again, &read, &err) == GNN_OK && read == value);
    }
    if (gnn_parse_duration_ns(text, &value, &err) == GNN_OK) {
        (void)snprintf(again, sizeof again, "%" PRIu64 "ns", value);
        assert(gnn_parse_duration_ns(again, &read, &err) == GNN_OK && read == value);
    }
    if (gnn_parse_u64(text, &value, &err) == GNN_OK) {
        (void)snprintf(again, sizeof again, "%" PRIu64, value);
        assert(gnn_parse_u64(again, &read, &err) == GNN_OK && read == value);
    }
    if (gnn_parse_scale(text, &divisor, &err) == GNN_OK) {
        (void)snprintf(again, sizeof again, "1/%" PRIu32, divisor);
        assert(divisor >= 1 && gnn_parse_scale(again, &divisor_read, &err) == GNN_OK && divisor_read == divisor);
    }
    if (gnn_parse_u32_list(text, values, GNN_LAYERS_MAX, 1000, &count, &err) == GNN_OK) {
        assert(count >= 1 && count <= GNN_LAYERS_MAX);
        for (uint32_t i = 0; i < count; i++)
            assert(values[i] >= 1 && values[i] <= 1000);
    }
    free(text);
}

/* The text of --fault. */
static inline void fuzz_faults(const unsigned char *data, size_t len)
{
    char *const text = fuzz_text(data, len < GNN_TEXT_MAX ? len : GNN_TEXT_MAX - 1);
    struct gnn_run_faults faults;
    struct gnn_err err = {0};
    if (gnn_faults_parse(text, &faults, &err) == GNN_OK) {
        const double shares[] = {faults.plan.read_eio_probability,    faults.plan.read_again_probability,
                                 faults.plan.read_short_probability,  faults.plan.read_slow_probability,
                                 faults.plan.write_short_probability, faults.plan.alloc_fail_probability};
        for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
            assert(shares[i] >= 0 && shares[i] <= 1);
        assert(faults.device_slowdown > 0);
    } else {
        assert(err.message[0] != '\0');
    }
    free(text);
}

/* ---- an import's sparse features: data, indices, indptr and shape, one of them the bytes ---- */

struct fuzz_array {
    const char *name, *dtype, *shape;
    const void *items;
    size_t bytes;
};

/* Writes a NumPy file, format 1.0. */
static inline void fuzz_write_npy(const char *dir, const struct fuzz_array *a)
{
    char path[700], header[118];
    unsigned char text[512] = "\x93NUMPY\x01\x00\x76\x00";
    (void)snprintf(path, sizeof path, "%s/%s", dir, a->name);
    const int used =
        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", a->dtype, a->shape);
    memset(text + 10, ' ', 117);
    text[127] = '\n';
    memcpy(text + 10, header, (size_t)used);
    assert(128 + a->bytes <= sizeof text);
    memcpy(text + 128, a->items, a->bytes);
    fuzz_write(path, text, 128 + a->bytes);
}

/* The first byte says which of the four. */
static inline void fuzz_triplet(const unsigned char *data, size_t len)
{
    static const int64_t edges[] = {0, 1, 2, 0, 1, 2, 0, 2}, labels[] = {0, 1, 0}, starts[] = {0, 1, 3, 4};
    static const int64_t columns[] = {4, 0, 2, 1}, shape[] = {3, 5};
    static const float values[] = {1, 2, 3, 4};
    static const struct fuzz_array arrays[] = {
        {"feat_data.npy", "<f4", "(4,)", values, sizeof values},
        {"feat_indices.npy", "<i8", "(4,)", columns, sizeof columns},
        {"feat_indptr.npy", "<i8", "(4,)", starts, sizeof starts},
        {"feat_shape.npy", "<i8", "(2,)", shape, sizeof shape},
        {"edge_index.npy", "<i8", "(2, 4)", edges, sizeof edges},
        {"node_label.npy", "<i8", "(3,)", labels, sizeof labels},
        {"train_idx.npy", "<i8", "(1,)", labels, sizeof(int64_t)},
    };
    char in[600], out[600], path[700];
    struct gnn_err err = {0};
    struct gnn_import_options options;
    if (len == 0)
        return;
    (void)snprintf(in, sizeof in, "%s/in", fuzz_dir());
    (void)snprintf(out, sizeof out, "%s/out", fuzz_dir());
    (void)mkdir(in, 0700);
    for (size_t a = 0; a < sizeof arrays / sizeof *arrays; a++)
        if (a != data[0] % 4)
            fuzz_write_npy(in, &arrays[a]);
    (void)snprintf(path, sizeof path, "%s/%s", in, arrays[data[0] % 4].name);
    fuzz_write(path, data + 1, len - 1);
    gnn_option_defaults(gnn_import_table, &options);
    options.memory_bytes = 8 << 20;
    const struct gnn_import_source source = {.format = GNN_IMPORT_OGB, .from = in};
    const struct gnn_prepare_job job = {.out_dir = out};
    if (gnn_prepare_import(&source, &options, &job, &err) != GNN_OK)
        assert(err.message[0] != '\0' && access(out, F_OK) != 0);
    process_remove_tree(out);
}

/* ---- files that systems write for themselves ---- */

/* The blocks of a mini-batch in Ginex' trace: what is accepted lies inside the record. */
static inline void fuzz_trace(const unsigned char *data, size_t len)
{
    static const gnn_node ids[5] = {3, 1, 4, 0, 2};
    const size_t bytes = len < GINEX_BLOCKS_BYTES_MIN ? GINEX_BLOCKS_BYTES_MIN : len / 4 * 4;
    const struct ginex_record record = {.blocks_bytes = bytes, .nodes = 5};
    unsigned char *const blocks = calloc(1, bytes);
    struct gnn_batch_view view;
    struct gnn_err err = {0};
    assert(blocks != NULL);
    memcpy(blocks, data, len < bytes ? len : bytes);
    if (ginex_decode_batch(&record, 7, ids, blocks, &view, &err) == GNN_OK) {
        uint64_t sum = 0;
        assert(view.batch == 7 && view.layer_count >= 1 && view.layer_count <= GNN_LAYERS_MAX);
        assert(view.seed_count <= view.node_count);
        for (uint32_t l = 0; l < view.layer_count; l++) {
            const struct gnn_block *const b = &view.blocks[l];
            for (uint64_t r = 0; r <= b->dst_count; r++)
                sum += b->row_start[r];
            for (uint64_t e = 0; e < b->edge_count; e++)
                sum += b->col[e];
            assert((const unsigned char *)(b->col + b->edge_count) <= blocks + bytes);
        }
        assert(sum < UINT64_MAX);
    } else {
        assert(err.message[0] != '\0');
    }
    free(blocks);
}

/* AGNES' graph blocks: the bytes are the end of one, where its slots are. What a list says of itself is looked at
 * before it is followed. */
static inline void fuzz_block(const unsigned char *data, size_t len)
{
    enum { BYTES = 4096, NODES = 3 };
    static struct agnes_object_range ranges[] = {{0, NODES - 1, 0}, {NODES, NODES, 4}};
    const struct agnes_index index = {
        .ranges = ranges, .blocks = 1, .block_bytes = BYTES, .id_bytes = 4, .node_count = NODES};
    unsigned char *const block = calloc(1, BYTES);
    struct gnn_err err = {0};
    assert(block != NULL);
    len = len < BYTES ? len : BYTES;
    memcpy(block + BYTES - len, data, len);
    if (agnes_block_check(&index, 0, block, "graph", &err) == GNN_OK) {
        uint64_t sum = 0;
        for (uint32_t k = 0; k < NODES; k++) {
            const struct agnes_slot slot = agnes_block_slot(block, BYTES, k);
            for (int32_t i = 0; agnes_slot_fits(&index, slot) && i < slot.count; i++)
                sum += agnes_block_id(block, 4, (uint64_t)slot.offset_bytes, (uint64_t)i);
        }
        assert(sum < UINT64_MAX);
    } else {
        assert(err.message[0] != '\0');
    }
    free(block);
}

/* AGNES' index file, in a simulated world where nothing else is prepared: it is refused, or what it names is missed. */
static inline void fuzz_index(const unsigned char *data, size_t len)
{
    static struct gnn_profile profile;
    static const uint64_t indptr[] = {0, 2, 3, 4};
    static const gnn_node train[] = {0, 1};
    static const struct gnn_dataset dataset = {.name = "fuzz",
                                               .dir = "/nowhere/fuzz",
                                               .digest = "0",
                                               .scale_divisor = 1,
                                               .node_count = 3,
                                               .edge_count = 4,
                                               .dim = 2,
                                               .class_count = 2,
                                               .row_bytes = 8,
                                               .id_bytes = 4,
                                               .indptr = indptr,
                                               .train = {.nodes = train, .count = 2},
                                               .indices_path = "/nowhere/fuzz/indices",
                                               .features_path = "/nowhere/fuzz/features-d2",
                                               .indices_bytes = 16,
                                               .topology_bytes = 48,
                                               .feature_bytes = 24};
    static const struct gnn_workload workload = {
        .seed = 1, .batch_size = 2, .layers = 1, .fanout = {2}, .epochs = 1, .sample_only = true};
    char path[800];
    struct agnes_config config;
    struct agnes_layout_files files;
    struct gnn_file *file = NULL;
    struct gnn_err err = {0};
    sim_profile_fill(&profile);
    struct gnn_world *const world = sim_world_of(&profile, 0);
    const struct gnn_env env = {.world = world, .dataset = &dataset, .workload = &workload, .cores = 1};
    gnn_option_defaults(agnes_options, &config);
    config.layout = AGNES_LAYOUT_INPUT;
    config.block_bytes = 4096;
    assert(agnes_layout_open(&env, &config, &files, &err) != GNN_OK); /* which says where it would lie */
    agnes_layout_close(world, &files);
    (void)snprintf(path, sizeof path, "%s/index", files.prepared.dir);
    assert(gnn_file_open(world, path, GNN_OPEN_WRITE | GNN_OPEN_TRUNCATE, &file, &err) == GNN_OK);
    assert(gnn_file_write(world, file, 0, data, len) == (int64_t)len);
    gnn_file_close(world, file);
    err = (struct gnn_err){0};
    assert(agnes_layout_open(&env, &config, &files, &err) != GNN_OK);
    assert(err.message[0] != '\0');
    agnes_layout_close(world, &files);
    gnn_world_simulated_close(world);
}

#include "tests/fuzz/fuzz_arrays.h"

/* ---- all of them; each has a directory of its name in corpus/ ---- */

struct fuzz_target {
    const char *name;
    void (*run)(const unsigned char *data, size_t len);
};

static const struct fuzz_target fuzz_targets[] = {
    {"meta", fuzz_meta},       {"npy", fuzz_npy},         {"snap", fuzz_snap},   {"matrix", fuzz_matrix},
    {"csv", fuzz_csv},         {"profile", fuzz_profile}, {"costs", fuzz_costs}, {"ini", fuzz_ini},
    {"job", fuzz_job},         {"fio", fuzz_fio},         {"units", fuzz_units}, {"faults", fuzz_faults},
    {"triplet", fuzz_triplet}, {"trace", fuzz_trace},     {"block", fuzz_block}, {"index", fuzz_index},
    {"triple", fuzz_triple},   {"recipe", fuzz_recipe},   {"zip", fuzz_zip},     {"pickle", fuzz_pickle},
    {"mapped", fuzz_mapped},   {"lists", fuzz_lists},
};
enum { FUZZ_TARGETS = sizeof fuzz_targets / sizeof *fuzz_targets };

#endif
