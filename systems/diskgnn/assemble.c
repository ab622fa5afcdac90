/* SPDX-License-Identifier: MIT */
/* One input out of four levels (DiskGNN, sections 4 and 5.3). Every row of a mini-batch has a number: rows of the GPU
 * cache come first, then those of the CPU cache, then those of the partial input, and the last number is no row at all.
 * What the numbers mean is one list on the back-end (diskgnn.place); what a mini-batch brings are its own rows'
 * numbers, by position. */
#include "systems/diskgnn/diskgnn.h"

#include <assert.h>
#include <inttypes.h>

enum { COPY_LANE = 0 }; /* of the device: what the assembler brings up */

/* ---- numbers of rows ---- */

/* Puts numbers first .. first + count - 1 at the positions; false when one is no position. */
static bool put_numbers(uint32_t *places, uint32_t nodes, const uint32_t *at, uint32_t count, uint32_t first)
{
    bool inside = true;
    for (uint32_t i = 0; i < count && inside; i++) {
        inside = at[i] < nodes;
        if (inside)
            places[at[i]] = first + i;
    }
    return inside;
}

/* Likewise the numbers row[i], which are below `end` and not below `first`. */
static bool put_rows(uint32_t *places, uint32_t nodes, const uint32_t *at, const uint32_t *row, uint32_t count,
                     uint32_t first, uint32_t end)
{
    bool inside = true;
    for (uint32_t i = 0; i < count && inside; i++) {
        inside = at[i] < nodes && row[i] >= first && row[i] < end;
        if (inside)
            places[at[i]] = row[i];
    }
    return inside;
}

/* Gives every position a number. False unless each has exactly one: as many entries as positions, none left over. */
static bool number_rows(const struct diskgnn *s, const struct diskgnn_place *place, const struct diskgnn_table *table,
                        uint32_t nodes, uint32_t *places)
{
    const uint32_t gpu_rows = s->layout.gpu_rows, cached = gpu_rows + s->layout.cpu_rows;
    const uint32_t none = s->place_count - 1;
    const uint64_t entries = (uint64_t)place->gpu + place->cpu + place->packed + place->shared;
    for (uint32_t i = 0; i < nodes; i++)
        places[i] = none;
    bool whole =
        entries == nodes && put_rows(places, nodes, table->cached_at, table->cached_row, place->gpu, 0, gpu_rows);
    whole = whole && put_rows(places, nodes, table->cached_at + place->gpu, table->cached_row + place->gpu, place->cpu,
                              gpu_rows, cached);
    whole = whole && put_numbers(places, nodes, table->partial_at, place->packed + place->shared, cached);
    for (uint32_t i = 0; i < nodes && whole; i++)
        whole = places[i] != none;
    gnn_charge(s->env->world, GNN_WORK_TABLE_ENTRY, nodes);
    return whole;
}

/* ---- gathers ---- */

/* Gathers the input's rows: those of the partial input from `partial`, wherever that is. */
static void gather(const struct diskgnn *s, const struct diskgnn_input *input, const void *partial)
{
    struct gnn_tensor *const tensor = s->env->tensor;
    const uint32_t dim = s->env->dataset->dim;
    const struct gnn_placement placement = {.table = {[DISKGNN_GPU_CACHE] = {s->gpu_cache, dim},
                                                      [DISKGNN_CPU_CACHE] = {s->cpu_cache, dim},
                                                      [DISKGNN_PARTIAL] = {partial, dim}},
                                            .place = s->place,
                                            .type = s->env->dataset->feature_type};
    tensor->ops->gather_placed(tensor, input->x.data, &placement, input->places, input->nodes, dim, input->host_rows);
}

/* Brings the host's rows up in a lane, whose kernel reads them where they lie, and leaves to the gather the rows of the
 * GPU cache. Rows of float16 wait in the copy to be widened. */
static void bring_host_rows(struct diskgnn *s, const struct diskgnn_partial *partial, const struct diskgnn_place *place,
                            const struct diskgnn_table *table, struct diskgnn_input *input)
{
    struct gnn_tensor *const tensor = s->env->tensor;
    const uint32_t gpu_rows = s->layout.gpu_rows, none = s->place_count - 1, row_bytes = s->env->dataset->row_bytes;
    const uint32_t read = place->packed + place->shared;
    gnn_real *const rows = diskgnn_streams_halves(s->env, s->config) ? input->copy.data : input->x.data;
    for (uint32_t i = 0; i < place->cpu; i++)
        input->from[i] = table->cached_row[place->gpu + i] - gpu_rows;
    if (place->cpu > 0)
        tensor->ops->upload_rows(tensor, COPY_LANE, rows, table->cached_at + place->gpu, s->cpu_cache, input->from,
                                 place->cpu, row_bytes);
    for (uint32_t i = 0; i < read; i++)
        input->from[i] = i;
    if (read > 0)
        tensor->ops->upload_rows(tensor, COPY_LANE, rows, table->partial_at, partial->rows, input->from, read,
                                 row_bytes);
    for (uint32_t i = 0; i < input->nodes; i++)
        input->places[i] = input->places[i] < gpu_rows ? input->places[i] : none;
    gnn_charge(s->env->world, GNN_WORK_TABLE_ENTRY, input->nodes + (uint64_t)place->cpu + read);
    tensor->ops->upload_wait(tensor, COPY_LANE); /* before the gather */
}

/* Copies the partial input whole to where ops read it. */
static void copy_partial(const struct diskgnn *s, const struct diskgnn_partial *partial, uint32_t rows,
                         const struct diskgnn_input *input)
{
    struct gnn_tensor *const tensor = s->env->tensor;
    const uint64_t bytes = rows * (uint64_t)s->env->dataset->row_bytes;
    assert(rows <= input->copy.capacity);
    if (rows > 0 && !gnn_env_on_device(s->env)) {
        gnn_mem_copy(s->env->world, input->copy.data, partial->rows, bytes);
    } else if (rows > 0) {
        tensor->ops->upload_async(tensor, COPY_LANE, input->copy.data, partial->rows, bytes);
        tensor->ops->upload_wait(tensor, COPY_LANE); /* before ops read it */
    }
}

/* ---- an input ---- */

static void assemble_for_device(struct diskgnn *s, struct diskgnn_partial *partial, const struct diskgnn_place *place,
                                const struct diskgnn_table *table, struct diskgnn_input *input)
{
    switch (s->config->assembly) {
    case DISKGNN_ASSEMBLY_STREAM:
        bring_host_rows(s, partial, place, table, input);
        break;
    case DISKGNN_ASSEMBLY_KERNEL:
        input->host_rows = place->cpu + place->packed + place->shared;
        input->partial = partial;
        break;
    case DISKGNN_ASSEMBLY_SCATTER:
        input->host_rows = place->cpu;
        copy_partial(s, partial, place->packed + place->shared, input);
        break;
    }
}

static void assemble_on_host(struct diskgnn *s, const struct diskgnn_partial *partial,
                             const struct diskgnn_place *place, struct diskgnn_input *input)
{
    const bool scatter = s->config->assembly == DISKGNN_ASSEMBLY_SCATTER;
    if (scatter)
        copy_partial(s, partial, place->packed + place->shared, input);
    gather(s, input, scatter ? (const void *)input->copy.data : partial->rows);
}

static void count_rows(struct diskgnn_counters *counters, const struct diskgnn_place *place)
{
    counters->gpu_rows += place->gpu;
    counters->cpu_rows += place->cpu;
    counters->shared_rows += place->shared;
    counters->packed_rows += place->packed;
}

enum gnn_status diskgnn_assemble(struct diskgnn *s, struct diskgnn_partial *partial, struct diskgnn_input *input,
                                 bool *released, struct gnn_err *err)
{
    const uint32_t batch = partial->table->batch;
    const struct diskgnn_place *const place = &s->layout.of[batch];
    const struct diskgnn_table table = diskgnn_table_of(place, partial->table->words);
    input->batch = batch;
    input->nodes = diskgnn_sample_nodes(&s->sampled.of[batch]);
    input->host_rows = 0;
    input->partial = NULL;
    assert(input->nodes <= input->x.capacity);
    if (!number_rows(s, place, &table, input->nodes, input->places))
        return gnn_fail(err, GNN_EFORMAT,
                        "%s: the address table of mini-batch %" PRIu32
                        " does not place every row exactly once; remove the file, or set diskgnn.reuse=false",
                        gnn_file_path(s->env->world, s->tables), batch);
    if (gnn_env_on_device(s->env))
        assemble_for_device(s, partial, place, &table, input);
    else
        assemble_on_host(s, partial, place, input);
    count_rows(&s->counters, place);
    *released = input->partial == NULL;
    return GNN_OK;
}

void diskgnn_assemble_rest(const struct diskgnn *s, const struct diskgnn_input *input)
{
    const bool only_cached = s->config->assembly == DISKGNN_ASSEMBLY_STREAM;
    const uint32_t dim = s->env->dataset->dim;
    if (diskgnn_streams_halves(s->env, s->config)) /* all positions; those of the GPU cache are overwritten */
        s->env->tensor->ops->gather_halves(s->env->tensor, input->x.data, (const void *)input->copy.data, dim, NULL,
                                           input->nodes, dim);
    if (!gnn_env_on_device(s->env) || (only_cached && s->layout.gpu_rows == 0))
        return; /* all rows are there */
    gather(s, input, input->partial != NULL ? (const void *)input->partial->rows : input->copy.data);
}
