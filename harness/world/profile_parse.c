/* SPDX-License-Identifier: MIT */
/* A profile's text into figures. One table says for every key its section, unit, place and limits; the README of
 * workloads/hardware says the same for people. */
#include "harness/base/near_miss.h"
#include "harness/base/units.h"
#include "harness/world/profile_draft.h"
#include "harness/world/profile_text.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* Which profiles need the key. */
enum need {
    NEED_ALWAYS,
    NEED_NEVER,
    NEED_CURVE,    /* unless the read grid is given */
    NEED_COST,     /* unless a file of costs gives it */
    NEED_SPARE,    /* a cost that no profile needs: without it a plainer model holds */
    NEED_GPU,      /* if [gpu] is there */
    NEED_RELEASED, /* of a file of [released] costs, which has nothing else */
};

struct field {
    const char *section, *key;
    enum unit unit;
    enum need need;
    size_t offset;
    size_t bytes; /* 4, 8, or a text's room */
    uint64_t min, max;
};

#define PLACE(member) offsetof(struct draft, member), sizeof(((struct draft *)0)->member)
#define IN_STORAGE(member) PLACE(profile.storage.member)
#define IN_CPU(member) PLACE(profile.cpu.member)
#define WORK(kind) offsetof(struct draft, profile.cpu.work_ps) + sizeof(uint64_t) * (kind), sizeof(uint64_t)

#define BYTES_MAX (UINT64_C(1) << 56)

static const struct field fields[] = {
    {"machine", "machine_id", UNIT_TEXT, NEED_ALWAYS, PLACE(profile.machine_id), 0, 0},
    {"machine", "title", UNIT_TEXT, NEED_ALWAYS, PLACE(profile.title), 0, 0},
    {"machine", "calibrated", UNIT_MOMENT, NEED_NEVER, PLACE(profile.calibrated_s), 1, UINT64_MAX},
    {"machine", "kernel", UNIT_VERSION, NEED_NEVER, PLACE(profile.kernel), 4000, 99999},
    {"machine", "memory", UNIT_BYTES, NEED_ALWAYS, PLACE(profile.memory_bytes), 1, BYTES_MAX},
    {"machine", "process", UNIT_BYTES, NEED_ALWAYS, PLACE(profile.process_bytes), 0, BYTES_MAX},

    {"storage", "model", UNIT_TEXT, NEED_NEVER, PLACE(model), 0, 0},
    {"storage", "devices", UNIT_COUNT, NEED_ALWAYS, IN_STORAGE(devices), 1, 256},
    {"storage", "stripe", UNIT_BYTES, NEED_ALWAYS, IN_STORAGE(stripe_bytes), 512, BYTES_MAX},
    {"storage", "sector", UNIT_BYTES, NEED_ALWAYS, IN_STORAGE(sector_bytes), 512, 65536},
    {"storage", "depth_max", UNIT_COUNT, NEED_ALWAYS, IN_STORAGE(depth_max), 1, COUNT_MAX},
    {"storage", "read_latency", UNIT_PS, NEED_CURVE, IN_STORAGE(read_latency_ps), 1, SECOND_PS},
    {"storage", "read_iops", UNIT_PER_S, NEED_CURVE, IN_STORAGE(read_iops), 1, SECOND_NS},
    {"storage", "read_bandwidth", UNIT_RATE, NEED_CURVE, IN_STORAGE(read_bytes_per_s), 1, RATE_MAX},
    {"storage", "write_latency", UNIT_NS, NEED_ALWAYS, IN_STORAGE(write_latency_ns), 1, SECOND_NS},
    {"storage", "write_iops", UNIT_PER_S, NEED_ALWAYS, IN_STORAGE(write_iops), 1, SECOND_NS},
    {"storage", "write_bandwidth", UNIT_RATE, NEED_ALWAYS, IN_STORAGE(write_bytes_per_s), 1, RATE_MAX},
    {"storage", "mixed_bandwidth", UNIT_RATE, NEED_NEVER, IN_STORAGE(mixed_bytes_per_s), 1000000, RATE_MAX},
    {"storage", "write_sustained", UNIT_RATE, NEED_NEVER, IN_STORAGE(write_sustained_bytes_per_s), 1000, RATE_MAX},
    {"storage", "write_burst", UNIT_BYTES, NEED_NEVER, IN_STORAGE(write_burst_bytes), 1, BYTES_MAX},
    {"storage", "readahead", UNIT_BYTES, NEED_ALWAYS, IN_STORAGE(readahead_bytes), 0, UINT64_C(1) << 30},

    {"cpu", "model", UNIT_TEXT, NEED_NEVER, PLACE(model), 0, 0},
    {"cpu", "cores", UNIT_COUNT, NEED_ALWAYS, IN_CPU(cores), 1, COUNT_MAX},
    {"cpu", "clock", UNIT_HZ, NEED_ALWAYS, PLACE(profile.clock_hz), 1000000, UINT64_C(100000000000)},
    {"cpu", "costs", UNIT_TEXT, NEED_NEVER, PLACE(costs), 0, 0},
    {"cpu", "sampled_edge", UNIT_PS, NEED_COST, WORK(GNN_WORK_SAMPLED_EDGE), 0, SECOND_PS},
    {"cpu", "hashed_id", UNIT_PS, NEED_COST, WORK(GNN_WORK_HASHED_ID), 0, SECOND_PS},
    {"cpu", "sorted_key", UNIT_PS, NEED_COST, WORK(GNN_WORK_SORTED_KEY), 0, SECOND_PS},
    {"cpu", "copied_byte", UNIT_PS, NEED_COST, WORK(GNN_WORK_COPIED_BYTE), 0, SECOND_PS},
    {"cpu", "table_entry", UNIT_PS, NEED_COST, WORK(GNN_WORK_TABLE_ENTRY), 0, SECOND_PS},
    {"cpu", "gather_element", UNIT_NS, NEED_COST, IN_CPU(gather_element_ns), 0, SECOND_NS},
    {"cpu", "gather_row", UNIT_NS, NEED_COST, IN_CPU(gather_row_ns), 0, SECOND_NS},
    {"cpu", "fault_minor", UNIT_NS, NEED_COST, IN_CPU(fault_minor_ns), 0, SECOND_NS},
    {"cpu", "fault_major", UNIT_NS, NEED_COST, IN_CPU(fault_major_ns), 0, SECOND_NS},
    {"cpu", "readahead_page", UNIT_NS, NEED_COST, IN_CPU(readahead_page_ns), 0, SECOND_NS},
    {"cpu", "syscall", UNIT_NS, NEED_COST, IN_CPU(syscall_ns), 0, SECOND_NS},
    {"cpu", "submit", UNIT_NS, NEED_COST, IN_CPU(submit_ns), 0, SECOND_NS},
    {"cpu", "complete", UNIT_NS, NEED_COST, IN_CPU(complete_ns), 0, SECOND_NS},
    {"cpu", "buffered_page", UNIT_NS, NEED_COST, IN_CPU(buffered_page_ns), 0, SECOND_NS},
    {"cpu", "evict_page", UNIT_NS, NEED_SPARE, IN_CPU(evict_page_ns), 1, SECOND_NS},
    {"cpu", "unmap_page", UNIT_NS, NEED_SPARE, IN_CPU(unmap_page_ns), 1, SECOND_NS},
    {"cpu", "ring_cached_read", UNIT_NS, NEED_SPARE, IN_CPU(ring_cached_ns), 1, SECOND_NS},
    {"cpu", "ring_missed_read", UNIT_NS, NEED_SPARE, IN_CPU(ring_missed_ns), 1, SECOND_NS},
    {"cpu", "lock", UNIT_NS, NEED_COST, IN_CPU(lock_ns), 0, SECOND_NS},
    {"cpu", "wake", UNIT_NS, NEED_COST, IN_CPU(wake_ns), 0, SECOND_NS},
    {"cpu", "wake_latency", UNIT_NS, NEED_COST, IN_CPU(wake_latency_ns), 0, SECOND_NS},
    {"cpu", "thread_start", UNIT_NS, NEED_COST, IN_CPU(thread_start_ns), 0, SECOND_NS},

    {"host", "gemm", UNIT_FLOPS, NEED_ALWAYS, PLACE(profile.host.gemm_flops_per_s), 1, RATE_MAX},
    {"host", "gemm_operand", UNIT_PS, NEED_NEVER, PLACE(profile.host.gemm_operand_ps), 0, SECOND_PS / 1000},
    {"host", "bandwidth", UNIT_RATE, NEED_ALWAYS, PLACE(profile.host.bytes_per_s), 1, RATE_MAX},
    {"host", "bandwidth_shared", UNIT_RATE, NEED_ALWAYS, PLACE(profile.host.bytes_per_s_shared), 1, RATE_MAX},
    {"host", "gather", UNIT_RATE, NEED_ALWAYS, PLACE(profile.host.gather_bytes_per_s), 1, RATE_MAX},
    {"host", "launch", UNIT_NS, NEED_ALWAYS, PLACE(profile.host.launch_ns), 0, SECOND_NS},

    {"gpu", "model", UNIT_TEXT, NEED_NEVER, PLACE(profile.gpu_model), 0, 0},
    {"gpu", "gemm", UNIT_FLOPS, NEED_GPU, PLACE(profile.gpu.gemm_flops_per_s), 1, RATE_MAX},
    {"gpu", "bandwidth", UNIT_RATE, NEED_GPU, PLACE(profile.gpu.bytes_per_s), 1, RATE_MAX},
    {"gpu", "gather", UNIT_RATE, NEED_GPU, PLACE(profile.gpu.gather_bytes_per_s), 1, RATE_MAX},
    {"gpu", "launch", UNIT_NS, NEED_GPU, PLACE(profile.gpu.launch_ns), 0, SECOND_NS},
    {"gpu", "memory", UNIT_BYTES, NEED_GPU, PLACE(profile.gpu.memory_bytes), 1, BYTES_MAX},
    {"gpu", "devices", UNIT_COUNT, NEED_NEVER, PLACE(profile.gpu.devices), 1, 64},

    {"bus", "pinned", UNIT_RATE, NEED_GPU, PLACE(profile.bus.pinned_bytes_per_s), 1, RATE_MAX},
    {"bus", "pageable", UNIT_RATE, NEED_GPU, PLACE(profile.bus.pageable_bytes_per_s), 1, RATE_MAX},
    {"bus", "latency", UNIT_NS, NEED_GPU, PLACE(profile.bus.latency_ns), 0, SECOND_NS},
    {"bus", "link", UNIT_RATE, NEED_NEVER, PLACE(profile.bus.link_bytes_per_s), 1, RATE_MAX},
    {"bus", "link_latency", UNIT_NS, NEED_NEVER, PLACE(profile.bus.link_latency_ns), 0, SECOND_NS},

    {"released", "clock", UNIT_HZ, NEED_RELEASED, PLACE(profile.clock_hz), 1000000, UINT64_C(100000000000)},
    {"released", "framework_edge", UNIT_PS, NEED_RELEASED, WORK(GNN_WORK_FRAMEWORK_EDGE), 1, SECOND_PS},
    {"released", "shared_edge", UNIT_PS, NEED_RELEASED, WORK(GNN_WORK_SHARED_EDGE), 1, SECOND_PS},
    {"released", "bitmap_byte", UNIT_PS, NEED_RELEASED, WORK(GNN_WORK_BITMAP_BYTE), 0, SECOND_PS},
    {"released", "sort_step", UNIT_PS, NEED_RELEASED, WORK(GNN_WORK_SORT_STEP), 0, SECOND_PS},
    {"released", "list_take", UNIT_PS, NEED_RELEASED, WORK(GNN_WORK_LIST_TAKE), 0, SECOND_PS},
    {"released", "list_evict", UNIT_PS, NEED_RELEASED, WORK(GNN_WORK_LIST_EVICT), 0, SECOND_PS},
    {"released", "list_put", UNIT_PS, NEED_RELEASED, WORK(GNN_WORK_LIST_PUT), 0, SECOND_PS},
    {"released", "fresh_page", UNIT_PS, NEED_RELEASED, WORK(GNN_WORK_FRESH_PAGE), 0, SECOND_PS},
    {"released", "process_start", UNIT_PS, NEED_RELEASED, WORK(GNN_WORK_PROCESS_START), 0, SECOND_PS},
    {"released", "step", UNIT_NS, NEED_RELEASED, PLACE(profile.framework.step_ns), 0, SECOND_NS},
    {"released", "step_edge", UNIT_PS, NEED_RELEASED, PLACE(profile.framework.step_edge_ps), 0, SECOND_PS},
    {"released", "cpu_cores", UNIT_CORES, NEED_RELEASED, PLACE(profile.framework.milli_cores), 1, COUNT_MAX * 1000},
};

enum { FIELD_COUNT = sizeof fields / sizeof *fields };
_Static_assert((size_t)FIELD_COUNT <= GNN_PROFILE_KEYS_MAX, "parse.seen has one for each");

static const char released_section[] = "released";

/* ---- one entry ---- */

static void store(struct draft *draft, const struct field *field, uint64_t value)
{
    char *const at = (char *)draft + field->offset;
    assert(field->bytes == sizeof(uint32_t) || field->bytes == sizeof value);
    const uint32_t narrow = (uint32_t)value;
    assert(field->bytes == sizeof value || narrow == value); /* the field's limit fits its type */
    if (field->bytes == sizeof narrow)
        memcpy(at, &narrow, sizeof narrow);
    else
        memcpy(at, &value, sizeof value);
}

static uint64_t load(const struct draft *draft, const struct field *field)
{
    uint64_t value;
    uint32_t narrow;
    memcpy(&narrow, (const char *)draft + field->offset, sizeof narrow);
    if (field->bytes == sizeof narrow)
        return narrow;
    memcpy(&value, (const char *)draft + field->offset, sizeof value);
    return value;
}

/* Notes an assumed parameter that a sensitivity analysis changes: sizes and counts are how a machine is built. */
static void mark_assumed(struct gnn_profile *profile, uint32_t f)
{
    const bool timed = fields[f].unit >= UNIT_PS && fields[f].unit <= UNIT_CORES;
    if (timed || strcmp(fields[f].key, "readahead") == 0)
        profile->assumed[f / 64] |= UINT64_C(1) << f % 64;
}

static enum gnn_status parse_field(struct parse *p, const struct field *field, const struct gnn_ini_entry *entry)
{
    if (field->unit == UNIT_TEXT) {
        if (entry->value[0] == '\0' || strlen(entry->value) >= field->bytes)
            return gnn_profile_refuse(p, entry, "a text that is empty or too long");
        memcpy((char *)&p->draft + field->offset, entry->value, strlen(entry->value) + 1);
        return GNN_OK;
    }
    size_t len;
    uint64_t value = 0;
    GNN_TRY(gnn_profile_check_source(p, entry, &len));
    if (!gnn_profile_value(field->unit, entry->value, len, &value))
        return gnn_fail(p->err, GNN_EFORMAT, "%s:%" PRIu32 ": %s = %s: expected %s", p->path, entry->line, entry->key,
                        entry->value, gnn_profile_unit_words(field->unit));
    if (value < field->min || value > field->max)
        return gnn_profile_refuse(p, entry, value < field->min ? "too small" : "too large");
    store(&p->draft, field, value);
    const char *const source = entry->value + len + strspn(entry->value + len, " \t");
    if (p->released || strncmp(source, "assumed", strlen("assumed")) == 0)
        mark_assumed(&p->draft.profile, (uint32_t)(field - fields));
    return GNN_OK;
}

/* ---- sections ---- */

static enum gnn_status unknown_key(struct parse *p, const struct gnn_ini_section *section,
                                   const struct gnn_ini_entry *entry)
{
    struct gnn_near_miss near;
    gnn_near_miss_start(&near, entry->key);
    for (uint32_t f = 0; f < FIELD_COUNT; f++)
        if (strcmp(fields[f].section, section->name) == 0)
            gnn_near_miss_offer(&near, fields[f].key);
    if (strcmp(section->name, "storage") == 0)
        gnn_profile_offer_grid(&near, entry->key);
    return gnn_fail(p->err, GNN_EFORMAT, "%s:%" PRIu32 ": [%s] has no key \"%s\"%s", p->path, entry->line,
                    section->name, entry->key, gnn_near_miss_text(&near));
}

static enum gnn_status parse_entry(struct parse *p, const struct gnn_ini_section *section,
                                   const struct gnn_ini_entry *entry)
{
    if (strcmp(section->name, "storage") == 0 && gnn_profile_is_of_grid(entry->key))
        return gnn_profile_parse_grid(p, entry);
    for (uint32_t f = 0; f < FIELD_COUNT; f++)
        if (strcmp(fields[f].section, section->name) == 0 && strcmp(fields[f].key, entry->key) == 0) {
            p->seen[f] = true;
            return parse_field(p, &fields[f], entry);
        }
    return unknown_key(p, section, entry);
}

/* Returns the model of the GPU that a section of a file of costs is for: "[released NVIDIA A10G]", or NULL. */
static const char *gpu_of(const struct parse *p, const struct gnn_ini_section *section)
{
    const size_t length = strlen(released_section);
    const bool is_gpus = p->released && strncmp(section->name, released_section, length) == 0 &&
                         section->name[length] == ' ' && section->name[length + 1] != '\0';
    return is_gpus ? section->name + length + 1 : NULL;
}

static enum gnn_status check_section(struct parse *p, const struct gnn_ini_section *section)
{
    struct gnn_near_miss near;
    if (gpu_of(p, section) != NULL)
        return GNN_OK;
    if (p->released && strcmp(section->name, released_section) != 0)
        return gnn_fail(p->err, GNN_EFORMAT,
                        "%s:%" PRIu32 ": a file of --costs has a section [%s], and sections [%s MODEL] of GPUs, alone",
                        p->path, section->line, released_section, released_section);
    if (!p->released && strcmp(section->name, released_section) == 0)
        return gnn_fail(p->err, GNN_EFORMAT,
                        "%s:%" PRIu32 ": [%s] does not belong into a profile: --costs names its file", p->path,
                        section->line, released_section);
    gnn_near_miss_start(&near, section->name);
    for (uint32_t f = 0; f < FIELD_COUNT; f++) {
        if (strcmp(fields[f].section, section->name) == 0)
            return GNN_OK;
        if (f == 0 || strcmp(fields[f].section, fields[f - 1].section) != 0)
            gnn_near_miss_offer(&near, fields[f].section);
    }
    return gnn_fail(p->err, GNN_EFORMAT, "%s:%" PRIu32 ": no section [%s] in a profile%s", p->path, section->line,
                    section->name, gnn_near_miss_text(&near));
}

/* Parses the costs of one model of GPU. They replace those of all if the profile has such a GPU. */
static enum gnn_status parse_gpu_section(struct parse *p, const struct gnn_ini_section *section)
{
    struct gnn_ini_section as = *section;
    struct parse other = *p;
    struct parse *const to = strcmp(gpu_of(p, section), p->gpu_model) == 0 ? p : &other;
    as.name = released_section;
    for (uint32_t e = 0; e < section->entry_count; e++) {
        const struct gnn_ini_entry *const entry = &section->entries[e];
        if (strcmp(entry->key, "step") != 0 && strcmp(entry->key, "step_edge") != 0)
            return gnn_fail(p->err, GNN_EFORMAT, "%s:%" PRIu32 ": [%s] has step and step_edge alone, not \"%s\"",
                            p->path, entry->line, section->name, entry->key);
        GNN_TRY(parse_entry(to, &as, entry));
    }
    return GNN_OK;
}

static enum gnn_status parse_sections(struct parse *p, const struct gnn_ini *ini)
{
    if (gnn_ini_global(ini) != NULL)
        return gnn_fail(p->err, GNN_EFORMAT, "%s:%" PRIu32 ": no section [global] in a profile", p->path,
                        gnn_ini_global(ini)->line);
    for (uint32_t i = 0; i < gnn_ini_section_count(ini); i++) {
        const struct gnn_ini_section *const section = gnn_ini_section(ini, i);
        GNN_TRY(check_section(p, section));
        if (strcmp(section->name, "gpu") == 0)
            p->gpu_line = section->line;
        for (uint32_t e = 0; e < section->entry_count && gpu_of(p, section) == NULL; e++)
            GNN_TRY(parse_entry(p, section, &section->entries[e]));
    }
    for (uint32_t i = 0; i < gnn_ini_section_count(ini); i++) /* after those that they replace */
        if (gpu_of(p, gnn_ini_section(ini, i)) != NULL)
            GNN_TRY(parse_gpu_section(p, gnn_ini_section(ini, i)));
    return GNN_OK;
}

static enum gnn_status parse_text(struct parse *p, const char *text)
{
    struct gnn_ini *ini = NULL;
    GNN_TRY(gnn_ini_parse(p->path, text, &ini, p->err));
    const enum gnn_status status = parse_sections(p, ini);
    gnn_ini_close(ini);
    (void)XXH3_128bits_update(p->hash, text, strlen(text));
    return status;
}

static enum gnn_status check_needs(struct parse *p, enum need need)
{
    for (uint32_t f = 0; f < FIELD_COUNT; f++)
        if (fields[f].need == need && !p->seen[f])
            return gnn_fail(p->err, GNN_EFORMAT, "%s: [%s] lacks %s = %s", p->path, fields[f].section, fields[f].key,
                            gnn_profile_unit_words(fields[f].unit));
    return GNN_OK;
}

/* ---- the file of costs ---- */

static bool is_cost(const struct field *field)
{
    return field->need == NEED_COST || field->need == NEED_SPARE;
}

/* Turns costs measured at one clock into those of another: time is cycles. */
static enum gnn_status scale_costs(struct parse *p, const struct parse *from)
{
    for (uint32_t f = 0; f < FIELD_COUNT; f++) {
        if (!is_cost(&fields[f]) || p->seen[f] || !from->seen[f])
            continue; /* a needed one that is not there was refused */
        const unsigned __int128 cycles =
            (unsigned __int128)load(&from->draft, &fields[f]) * from->draft.profile.clock_hz;
        store(&p->draft, &fields[f], (uint64_t)((cycles + p->draft.profile.clock_hz / 2) / p->draft.profile.clock_hz));
        p->seen[f] = true;
        if ((from->draft.profile.assumed[f / 64] >> f % 64 & 1) != 0)
            mark_assumed(&p->draft.profile, f);
    }
    return GNN_OK;
}

static enum gnn_status check_costs_only(const struct parse *p)
{
    for (uint32_t f = 0; f < FIELD_COUNT; f++)
        if (p->seen[f] && !is_cost(&fields[f]) && strcmp(fields[f].key, "clock") != 0 &&
            strcmp(fields[f].key, "model") != 0)
            return gnn_fail(p->err, GNN_EFORMAT, "%s: [%s] %s does not belong into a file of costs", p->path,
                            fields[f].section, fields[f].key);
    if (p->draft.profile.clock_hz == 0)
        return gnn_fail(p->err, GNN_EFORMAT, "%s: [cpu] lacks the clock its costs were measured at", p->path);
    return GNN_OK;
}

static enum gnn_status parse_costs(struct parse *p)
{
    char path[512], *text = NULL;
    const char *const slash = strrchr(p->path, '/');
    const int folder = slash != NULL ? (int)(slash - p->path + 1) : 0;
    const int wrote = snprintf(path, sizeof path, "%.*s%s", folder, p->path, p->draft.costs);
    if (wrote < 0 || (size_t)wrote >= sizeof path)
        return gnn_fail(p->err, GNN_EFORMAT, "%s: the path of %s is too long", p->path, p->draft.costs);
    GNN_TRY(gnn_profile_read_text(path, &text, p->err));
    struct parse from = {.path = path, .hash = p->hash, .err = p->err};
    const enum gnn_status status = parse_text(&from, text);
    free(text);
    GNN_TRY(status);
    GNN_TRY(check_needs(&from, NEED_COST));
    GNN_TRY(check_costs_only(&from));
    return scale_costs(p, &from);
}

/* ---- changes ---- */

static enum gnn_status find_parameter(const struct parse *p, const char *name, uint32_t *f)
{
    char known[GNN_NAME_MAX];
    struct gnn_near_miss near;
    gnn_near_miss_start(&near, name);
    for (*f = 0; *f < FIELD_COUNT; ++*f) {
        (void)snprintf(known, sizeof known, "%s.%s", fields[*f].section, fields[*f].key);
        if (strcmp(known, name) == 0)
            return GNN_OK;
        gnn_near_miss_offer(&near, known);
    }
    return gnn_fail(p->err, GNN_EUSAGE, "%s: a profile has no such parameter%s", name, gnn_near_miss_text(&near));
}

/* Returns why the parameter cannot be changed in this profile, or NULL. */
static const char *fixed_because(const struct parse *p, const struct field *field)
{
    if (field->unit == UNIT_TEXT || field->unit == UNIT_MOMENT)
        return "only numbers that a run depends on can be changed";
    if ((field->need == NEED_GPU || strcmp(field->section, "gpu") == 0) && p->gpu_line == 0)
        return "the profile has no GPU; choose one with a section [gpu]";
    if (field->need == NEED_CURVE && p->depths_line != 0)
        return "the profile has a measured grid of reads instead; choose one without read_depths";
    return NULL;
}

/* Parses the new value, or multiplies the present one by "x0.5". */
static enum gnn_status changed_value(const struct parse *p, uint32_t f, const char *name, const char *text,
                                     uint64_t *out)
{
    const char *const unit = gnn_profile_unit_words(fields[f].unit);
    char *end = NULL;
    const double factor = text[0] == 'x' ? strtod(text + 1, &end) : 0;
    if (text[0] == 'x' ? *end != '\0' || !(factor > 0) || !isfinite(factor)
                       : !gnn_profile_value(fields[f].unit, text, strlen(text), out))
        return gnn_fail(p->err, GNN_EUSAGE, "%s=%s: expected %s, or a factor as x0.5", name, text, unit);
    if (text[0] == 'x' && !p->seen[f])
        return gnn_fail(p->err, GNN_EUSAGE, "%s=%s: profile %s has no value to multiply; give %s", name, text,
                        p->draft.profile.name, unit);
    if (text[0] == 'x')
        *out = (uint64_t)fmin(round(factor * (double)load(&p->draft, &fields[f])), (double)BYTES_MAX * 64);
    if (*out < fields[f].min || *out > fields[f].max)
        return gnn_fail(p->err, GNN_EUSAGE, "%s=%s: too %s for %s", name, text,
                        *out < fields[f].min ? "small" : "large", unit);
    return GNN_OK;
}

/* Makes one change if its turn has come: the clock's before costs are brought to it, [released] ones in their file. */
static enum gnn_status change(struct parse *p, bool clock, const char *name, const char *text)
{
    uint32_t f;
    uint64_t value = 0;
    GNN_TRY(find_parameter(p, name, &f));
    const bool released = strcmp(fields[f].section, released_section) == 0;
    if (released != p->released || (!released && (strcmp(fields[f].key, "clock") == 0) != clock))
        return GNN_OK;
    const char *const why = fixed_because(p, &fields[f]);
    if (why != NULL)
        return gnn_fail(p->err, GNN_EUSAGE, "%s=%s: %s", name, text, why);
    GNN_TRY(changed_value(p, f, name, text, &value));
    store(&p->draft, &fields[f], value);
    p->seen[f] = true;
    return GNN_OK;
}

static enum gnn_status change_all(struct parse *p, bool clock, const char *changes)
{
    char text[GNN_PROFILE_CHANGES_MAX];
    char *rest = text;
    (void)snprintf(text, sizeof text, "%s", changes);
    for (char *name = strsep(&rest, ", "); name != NULL; name = strsep(&rest, ", ")) {
        char *const sign = strchr(name, '=');
        if (name[0] != '\0' && sign == NULL)
            return gnn_fail(p->err, GNN_EUSAGE, "%s: expected SECTION.KEY=VALUE, as in storage.read_iops=3000/s", name);
        if (sign == NULL)
            continue;
        *sign = '\0';
        GNN_TRY(change(p, clock, name, sign + 1));
    }
    return GNN_OK;
}

bool gnn_profile_changes_section(const char *changes, const char *section)
{
    const size_t length = strlen(section);
    bool found = false;
    for (const char *at = changes; *at != '\0' && !found; at += strcspn(at, ", "), at += strspn(at, ", "))
        found = strncmp(at, section, length) == 0 && at[length] == '.';
    return found;
}

bool gnn_profile_next_assumed(const struct gnn_profile *profile, uint32_t *at, char key[GNN_NAME_MAX],
                              char value[GNN_NAME_MAX])
{
    struct draft draft = {.profile = *profile};
    while (*at < FIELD_COUNT && (profile->assumed[*at / 64] >> *at % 64 & 1) == 0)
        ++*at;
    if (*at == FIELD_COUNT)
        return false;
    const struct field *const field = &fields[(*at)++];
    (void)snprintf(key, GNN_NAME_MAX, "%s.%s", field->section, field->key);
    (void)gnn_profile_format(field->unit, load(&draft, field), value, GNN_NAME_MAX);
    return true;
}

/* ---- the whole ---- */

static enum gnn_status check_storage(struct parse *p)
{
    struct gnn_profile_storage *const storage = &p->draft.profile.storage;
    if (p->depths_line != 0 && storage->size_count == 0)
        return gnn_fail(p->err, GNN_EFORMAT, "%s:%" PRIu32 ": read_depths without a row read_us.SIZE", p->path,
                        p->depths_line);
    if ((storage->sector_bytes & (storage->sector_bytes - 1)) != 0 ||
        storage->stripe_bytes % storage->sector_bytes != 0)
        return gnn_fail(p->err, GNN_EFORMAT, "%s: [storage] sector is a power of two, and stripe a multiple of it",
                        p->path);
    if ((storage->write_sustained_bytes_per_s == 0) != (storage->write_burst_bytes == 0) ||
        storage->write_sustained_bytes_per_s > storage->write_bytes_per_s)
        return gnn_fail(p->err, GNN_EFORMAT,
                        "%s: [storage] write_sustained and write_burst must be given together, and write_sustained is "
                        "at most write_bandwidth",
                        p->path);
    if (p->depths_line == 0) {
        GNN_TRY(check_needs(p, NEED_CURVE));
        gnn_profile_expand_curve(&p->draft);
    }
    return GNN_OK;
}

static enum gnn_status check_whole(struct parse *p)
{
    struct gnn_profile *const profile = &p->draft.profile;
    GNN_TRY(check_needs(p, NEED_ALWAYS));
    GNN_TRY(check_needs(p, NEED_COST));
    if (p->gpu_line != 0)
        GNN_TRY(check_needs(p, NEED_GPU));
    if (profile->host.bytes_per_s_shared < profile->host.bytes_per_s)
        return gnn_fail(p->err, GNN_EFORMAT, "%s: [host] bandwidth_shared is below the bandwidth of one core", p->path);
    profile->cpu.work_ps[GNN_WORK_CPU_NS] = 1000; /* by its definition */
    profile->cpu.work_ps[GNN_WORK_FRAMEWORK_EDGE] = profile->cpu.work_ps[GNN_WORK_SAMPLED_EDGE] +
                                                    profile->cpu.work_ps[GNN_WORK_HASHED_ID] +
                                                    profile->cpu.work_ps[GNN_WORK_SORTED_KEY];
    profile->kernel = profile->kernel == 0 ? (uint32_t)GNN_PROFILE_KERNEL : profile->kernel;
    profile->host.present = true;
    profile->gpu.present = p->gpu_line != 0;
    profile->gpu.bytes_per_s_shared = profile->gpu.bytes_per_s;
    profile->gpu.devices = gnn_max_u32(profile->gpu.devices, 1);
    if (profile->bus.link_bytes_per_s == 0) { /* GPUs that talk to each other as they talk to the host */
        profile->bus.link_bytes_per_s = profile->bus.pinned_bytes_per_s;
        profile->bus.link_latency_ns = profile->bus.latency_ns;
    }
    return check_storage(p);
}

static enum gnn_status parse_all(struct parse *p, const char *text, const char *changes)
{
    GNN_TRY(gnn_profile_set_name(p));
    GNN_TRY(parse_text(p, text));
    GNN_TRY(change_all(p, true, changes));
    if (p->draft.profile.clock_hz == 0)
        GNN_TRY(check_needs(p, NEED_ALWAYS));
    if (p->draft.costs[0] != '\0')
        GNN_TRY(parse_costs(p));
    GNN_TRY(change_all(p, false, changes));
    (void)XXH3_128bits_update(p->hash, changes, strlen(changes));
    return check_whole(p);
}

enum gnn_status gnn_profile_parse_changed(const char *path, const char *text, const char *changes,
                                          struct gnn_profile **out, struct gnn_err *err)
{
    struct parse p = {.path = path, .err = err};
    if (strlen(changes) >= sizeof p.draft.profile.changes)
        return gnn_fail(err, GNN_EUSAGE, "%.40s...: more than %d characters", changes, GNN_PROFILE_CHANGES_MAX - 1);
    memcpy(p.draft.profile.changes, changes, strlen(changes) + 1);
    GNN_TRY(gnn_profile_begin_hash(&p));
    const enum gnn_status status = parse_all(&p, text, changes);
    gnn_profile_end_hash(&p, p.draft.profile.digest);
    GNN_TRY(status);
    GNN_NEW(*out, 1, err, "%s: %zu bytes", path, sizeof **out);
    **out = p.draft.profile;
    return GNN_OK;
}

enum gnn_status gnn_profile_parse(const char *path, const char *text, struct gnn_profile **out, struct gnn_err *err)
{
    return gnn_profile_parse_changed(path, text, "", out, err);
}

/* ---- [released] costs ---- */

/* Puts the costs of work into the profile, as cycles: time is that of its own clock. */
static void put_released(struct gnn_profile *profile, const struct gnn_profile *costs)
{
    static const enum gnn_work kinds[] = {GNN_WORK_FRAMEWORK_EDGE, GNN_WORK_SHARED_EDGE, GNN_WORK_BITMAP_BYTE,
                                          GNN_WORK_SORT_STEP,      GNN_WORK_LIST_TAKE,   GNN_WORK_LIST_EVICT,
                                          GNN_WORK_LIST_PUT,       GNN_WORK_FRESH_PAGE,  GNN_WORK_PROCESS_START};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const unsigned __int128 cycles = (unsigned __int128)costs->cpu.work_ps[kinds[k]] * costs->clock_hz;
        profile->cpu.work_ps[kinds[k]] = (uint64_t)((cycles + profile->clock_hz / 2) / profile->clock_hz);
    }
    profile->framework = costs->framework;
}

enum gnn_status gnn_profile_parse_costs(struct gnn_profile *profile, const char *path, const char *text,
                                        struct gnn_err *err)
{
    struct parse p = {.path = path, .released = true, .gpu_model = profile->gpu_model, .err = err};
    assert(profile->clock_hz > 0);
    GNN_TRY(gnn_profile_begin_hash(&p));
    enum gnn_status status = parse_text(&p, text);
    GNN_NEXT(status, check_needs(&p, NEED_RELEASED));
    GNN_NEXT(status, change_all(&p, false, profile->changes));
    if (gnn_profile_changes_section(profile->changes, released_section))
        (void)XXH3_128bits_update(p.hash, profile->changes, strlen(profile->changes));
    gnn_profile_end_hash(&p, p.draft.profile.costs_digest);
    GNN_TRY(status);
    put_released(profile, &p.draft.profile);
    for (size_t i = 0; i < sizeof profile->assumed / sizeof *profile->assumed; i++)
        profile->assumed[i] |= p.draft.profile.assumed[i];
    memcpy(profile->costs_digest, p.draft.profile.costs_digest, sizeof profile->costs_digest);
    return GNN_OK;
}

/* ---- one parameter ---- */

double gnn_profile_parameter(const char *key, const char *text, bool *key_known)
{
    static const double divisors[] = {[UNIT_PS] = 1e12, [UNIT_NS] = 1e9, [UNIT_CORES] = 1e3, [UNIT_TEXT] = 0};
    const char *const dot = strchr(key, '.');
    uint64_t value;
    *key_known = false;
    for (int i = 0; i < FIELD_COUNT && dot != NULL; i++) {
        const struct field *const field = &fields[i];
        if (strncmp(field->section, key, (size_t)(dot - key)) != 0 || field->section[dot - key] != '\0' ||
            strcmp(field->key, dot + 1) != 0 || field->unit == UNIT_TEXT)
            continue;
        *key_known = true;
        if (!gnn_profile_value(field->unit, text, strcspn(text, " \t,|"), &value))
            return (double)NAN;
        return (double)value / (divisors[field->unit] > 0 ? divisors[field->unit] : 1);
    }
    return (double)NAN;
}
