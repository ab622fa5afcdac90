/* SPDX-License-Identifier: MIT */
/* inih splits lines into section, key and value; this file keeps them, with line numbers. inih tells its handler
 * nothing about lines and skips empty sections, so the reader below, which hands inih one line at a time, notes
 * both. */
#include "harness/base/ini.h"

#include "harness/base/grow.h"

#include <assert.h>
#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INIH_NAME_BYTES = 50 }; /* inih truncates longer names without a word */

struct section {
    struct gnn_ini_section view; /* entries points at `entries` */
    struct gnn_ini_entry *entries;
    uint32_t capacity;
};

struct gnn_ini {
    char *name;
    struct section *sections;
    uint32_t section_count;
    uint32_t section_capacity;
    bool has_global; /* then it is sections[0] */
};

struct parse {
    struct gnn_ini *ini;
    FILE *file;
    uint32_t line;
    enum gnn_status status;
    struct gnn_err *err;
};

static bool refuse(struct parse *p, const char *what, const char *word, const char *rest)
{
    if (p->status == GNN_OK)
        p->status = gnn_fail(p->err, GNN_EUSAGE, "%s:%u: %s%s%s", p->ini->name, p->line, what, word, rest);
    return false;
}

static bool out_of_memory(struct parse *p)
{
    if (p->status == GNN_OK)
        p->status = gnn_fail(p->err, GNN_ENOMEM, "%s, line %u", p->ini->name, p->line);
    return false;
}

static bool add_section(struct parse *p, const char *name, size_t name_len)
{
    struct gnn_ini *const ini = p->ini;
    if (name_len == 0 || name_len >= INIH_NAME_BYTES - 1)
        return refuse(p, "a section's name has 1 to 48 bytes", "", "");
    for (uint32_t i = 0; i < ini->section_count; i++)
        if (strlen(ini->sections[i].view.name) == name_len && strncmp(ini->sections[i].view.name, name, name_len) == 0)
            return refuse(p, "section [", ini->sections[i].view.name, "] appears twice");
    struct section *const larger = gnn_grow(ini->sections, ini->section_count, &ini->section_capacity, sizeof *larger);
    if (larger == NULL)
        return out_of_memory(p);
    ini->sections = larger;
    char *const copy = strndup(name, name_len);
    if (copy == NULL)
        return out_of_memory(p);
    if (strcmp(copy, "global") == 0) {
        ini->has_global = ini->section_count == 0;
        if (!ini->has_global) {
            free(copy);
            return refuse(p, "[global] must be the first section", "", "");
        }
    }
    ini->sections[ini->section_count++] = (struct section){.view = {.name = copy, .line = p->line}};
    return true;
}

static bool add_entry(struct parse *p, const char *key, const char *value)
{
    assert(p->ini->section_count > 0);
    struct section *const section = &p->ini->sections[p->ini->section_count - 1];
    if (strlen(key) >= INIH_NAME_BYTES - 1)
        return refuse(p, "a key has at most 48 bytes: ", key, "…");
    if (gnn_ini_find(&section->view, key) != NULL)
        return refuse(p, "key \"", key, "\" appears twice in its section (an indented line continues the one before)");
    struct gnn_ini_entry *const larger =
        gnn_grow(section->entries, section->view.entry_count, &section->capacity, sizeof *larger);
    if (larger == NULL)
        return out_of_memory(p);
    section->entries = larger;
    section->view.entries = larger;
    struct gnn_ini_entry *const entry = &larger[section->view.entry_count];
    assert(section->view.entry_count < section->capacity);
    *entry = (struct gnn_ini_entry){.key = strdup(key), .value = strdup(value), .line = p->line};
    section->view.entry_count++;
    return entry->key != NULL && entry->value != NULL ? true : out_of_memory(p);
}

/* inih's line source, like fgets. Stops the parse at the first thing that is wrong. */
static char *read_line(char *buffer, int buffer_bytes, void *ctx)
{
    struct parse *const p = ctx;
    if (p->status != GNN_OK || fgets(buffer, buffer_bytes, p->file) == NULL)
        return NULL;
    p->line++;
    if (p->line == 1 && strncmp(buffer, "\xef\xbb\xbf", 3) == 0) /* some editors begin UTF-8 with this mark */
        memmove(buffer, buffer + 3, strlen(buffer + 3) + 1);
    const size_t len = strlen(buffer);
    if (len == 0) {
        (void)refuse(p, "the line is no text", "", "");
        return NULL;
    }
    if (len + 1 == (size_t)buffer_bytes && buffer[len - 1] != '\n' && !feof(p->file)) {
        (void)refuse(p, "the line is too long", "", "");
        return NULL;
    }
    if (buffer[0] == '[') {
        const char *const end = strchr(buffer, ']');
        const bool added = end != NULL ? add_section(p, buffer + 1, (size_t)(end - buffer - 1))
                                       : refuse(p, "a section starts with [name]", "", "");
        return added ? buffer : NULL;
    }
    return buffer;
}

/* inih's callback for key = value; 0 tells it that something is wrong. */
static int on_entry(void *ctx, const char *section, const char *key, const char *value)
{
    struct parse *const p = ctx;
    if (p->status != GNN_OK)
        return 0;
    if (p->ini->section_count == 0 || strcmp(p->ini->sections[p->ini->section_count - 1].view.name, section) != 0)
        return refuse(p, "key \"", key, "\" is outside a section; a section starts with [name] at the start of a line");
    return key == NULL || value == NULL ? refuse(p, "expected key = value", "", "") : add_entry(p, key, value);
}

static enum gnn_status parse_stream(const char *name, FILE *file, struct gnn_ini **out, struct gnn_err *err)
{
    struct gnn_ini *const ini = calloc(1, sizeof *ini);
    if (ini == NULL || (ini->name = strdup(name)) == NULL) {
        gnn_ini_close(ini);
        return gnn_fail(err, GNN_ENOMEM, "%s", name);
    }
    struct parse p = {.ini = ini, .file = file, .err = err};
    const int bad_line = ini_parse_stream(read_line, &p, on_entry, &p);
    if (p.status == GNN_OK && ferror(file) != 0)
        p.status = gnn_fail(err, GNN_EIO, "%s: %s", name, strerror(errno));
    if (p.status == GNN_OK && bad_line > 0)
        p.status = gnn_fail(err, GNN_EUSAGE, "%s:%d: expected key = value, [section] or a comment", name, bad_line);
    if (p.status == GNN_OK && bad_line < 0)
        p.status = gnn_fail(err, GNN_ENOMEM, "%s: the INI parser", name);
    if (p.status == GNN_OK)
        *out = ini;
    else
        gnn_ini_close(ini);
    return p.status;
}

enum gnn_status gnn_ini_open(const char *path, struct gnn_ini **out, struct gnn_err *err)
{
    FILE *const file = fopen(path, "re");
    if (file == NULL)
        return gnn_fail(err, errno == ENOENT ? GNN_ENOENT : gnn_errno_status(errno, GNN_EIO), "%s: %s", path,
                        strerror(errno));
    const enum gnn_status status = parse_stream(path, file, out, err);
    (void)fclose(file);
    return status;
}

enum gnn_status gnn_ini_parse(const char *name, const char *text, struct gnn_ini **out, struct gnn_err *err)
{
    /* fmemopen takes no length of 0 everywhere; the newline also ends a last line without one. */
    char *padded = NULL;
    if (asprintf(&padded, "%s\n", text) < 0)
        return gnn_fail(err, GNN_ENOMEM, "%s", name);
    FILE *const file = fmemopen(padded, strlen(padded), "r");
    const enum gnn_status status =
        file == NULL ? gnn_fail(err, GNN_ENOMEM, "%s: %s", name, strerror(errno)) : parse_stream(name, file, out, err);
    if (file != NULL)
        (void)fclose(file);
    free(padded);
    return status;
}

static void section_clear(struct section *section)
{
    for (uint32_t i = 0; i < section->view.entry_count; i++) {
        free((char *)section->entries[i].key);
        free((char *)section->entries[i].value);
    }
    free(section->entries);
    free((char *)section->view.name);
}

void gnn_ini_close(struct gnn_ini *ini)
{
    if (ini == NULL)
        return;
    for (uint32_t i = 0; i < ini->section_count; i++)
        section_clear(&ini->sections[i]);
    free(ini->sections);
    free(ini->name);
    free(ini);
}

const char *gnn_ini_name(const struct gnn_ini *ini)
{
    return ini->name;
}

const struct gnn_ini_section *gnn_ini_global(const struct gnn_ini *ini)
{
    return ini->has_global ? &ini->sections[0].view : NULL;
}

uint32_t gnn_ini_section_count(const struct gnn_ini *ini)
{
    return ini->section_count - (ini->has_global ? 1 : 0);
}

const struct gnn_ini_section *gnn_ini_section(const struct gnn_ini *ini, uint32_t index)
{
    assert(index < gnn_ini_section_count(ini));
    return &ini->sections[index + (ini->has_global ? 1 : 0)].view;
}

const struct gnn_ini_section *gnn_ini_find_section(const struct gnn_ini *ini, const char *name)
{
    for (uint32_t i = 0; i < gnn_ini_section_count(ini); i++)
        if (strcmp(gnn_ini_section(ini, i)->name, name) == 0)
            return gnn_ini_section(ini, i);
    return NULL;
}

const struct gnn_ini_entry *gnn_ini_find(const struct gnn_ini_section *section, const char *key)
{
    if (section == NULL)
        return NULL;
    for (uint32_t i = 0; i < section->entry_count; i++)
        if (strcmp(section->entries[i].key, key) == 0)
            return &section->entries[i];
    return NULL;
}
