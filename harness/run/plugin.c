/* SPDX-License-Identifier: MIT */
#include "harness/run/plugin.h"

#include "harness/system/plugin.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { OPTIONS_MAX = 64, READ_BYTES = 1 << 16 };

#define REBUILD "rebuild it with the headers of this program (`oocgnn new-system --help`)"

static const struct gnn_plugin_struct own_structs[] = {GNN_PLUGIN_STRUCTS(GNN_PLUGIN_STRUCT)};
enum { OWN_STRUCTS = sizeof own_structs / sizeof *own_structs };

bool gnn_plugin_is_path(const char *system)
{
    return strchr(system, '/') != NULL;
}

/* ---- the file ---- */

static enum gnn_status check_file(const char *path, struct gnn_err *err)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return gnn_fail(err, errno == ENOENT ? GNN_ENOENT : GNN_EPERM,
                        "--system %s: %s; give the path of a shared object, or a name of `oocgnn list systems`", path,
                        strerror(errno));
    if (!S_ISREG(info.st_mode))
        return gnn_fail(err, GNN_EUSAGE, "--system %s: not a file; give the path of a shared object, such as ./mine.so",
                        path);
    return GNN_OK;
}

/* dlerror's text names the file, and what is missing in it. */
static enum gnn_status not_loaded(const char *path, struct gnn_err *err)
{
    const char *const text = dlerror();
    const char *const why = text == NULL ? "unknown error" : text;
    if (strstr(why, "undefined symbol") != NULL)
        return gnn_fail(err, GNN_ENOTSUP, "--system %s: it calls what this program does not offer: %s; " REBUILD, path,
                        why);
    if (strstr(why, "cannot open shared object file") != NULL)
        return gnn_fail(err, GNN_ENOTSUP,
                        "--system %s: a library that it needs was not found: %s; install it, or link "
                        "it statically",
                        path, why);
    return gnn_fail(err, GNN_EUSAGE, "--system %s: not a shared object for this machine: %s; link it with -shared",
                    path, why);
}

/* ---- the table ---- */

static enum gnn_status check_structs(const char *path, const struct gnn_plugin *plugin, struct gnn_err *err)
{
    for (uint32_t i = 0; i < OWN_STRUCTS && i < plugin->struct_count; i++) {
        const struct gnn_plugin_struct *const own = &own_structs[i], *const other = &plugin->structs[i];
        if (strcmp(own->name, other->name) != 0)
            return gnn_fail(err, GNN_ENOTSUP,
                            "--system %s: its list of structs has gnn_%s where this program has gnn_%s; " REBUILD, path,
                            other->name, own->name);
        if (own->bytes != other->bytes)
            return gnn_fail(err, GNN_ENOTSUP,
                            "--system %s: struct gnn_%s has %" PRIu32 " bytes there and %" PRIu32
                            " bytes in this program; " REBUILD,
                            path, own->name, other->bytes, own->bytes);
    }
    if (plugin->struct_count != OWN_STRUCTS)
        return gnn_fail(err, GNN_ENOTSUP,
                        "--system %s: its headers have %" PRIu32 " structs, this program has %d; " REBUILD, path,
                        plugin->struct_count, OWN_STRUCTS);
    return GNN_OK;
}

/* Returns the first letter that a name must not have, or 0. Names are folders, keys of options and of databases. */
static char wrong_letter(const char *name)
{
    const size_t good = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-");
    return name[good];
}

static enum gnn_status check_name(const char *path, const struct gnn_system *system, struct gnn_err *err)
{
    if (system->name == NULL || system->name[0] == '\0' || strlen(system->name) >= GNN_NAME_MAX)
        return gnn_fail(err, GNN_EUSAGE, "--system %s: its name has 0 or more than %d letters; set .name of its table",
                        path, GNN_NAME_MAX - 1);
    if (wrong_letter(system->name) != '\0')
        return gnn_fail(err, GNN_EUSAGE,
                        "--system %s: its name \"%s\" contains '%c'; use lower-case letters, digits, - and _", path,
                        system->name, wrong_letter(system->name));
    return GNN_OK;
}

static enum gnn_status check_options(const char *path, const struct gnn_system *system, struct gnn_err *err)
{
    uint32_t count = 0;
    if (system->options == NULL)
        return gnn_fail(err, GNN_EUSAGE,
                        "--system %s: .options is NULL; without options it is a table with the entry {.name = NULL}",
                        path);
    for (const struct gnn_option *o = system->options; o->name != NULL; o++, count++)
        if (o->def == NULL || o->help == NULL || count == OPTIONS_MAX)
            return gnn_fail(err, GNN_EUSAGE,
                            "--system %s: option %s: .def or .help is missing, or it is beyond the limit of %d options",
                            path, o->name, OPTIONS_MAX);
    return GNN_OK;
}

/* Whether an address is in the object. That of a function of this program is not: a name that both have was bound to
 * the program's. */
static bool is_inside(const void *address, const struct gnn_plugin *plugin)
{
    Dl_info of_address, of_plugin;
    return dladdr(address, &of_address) != 0 && dladdr(plugin, &of_plugin) != 0 &&
           of_address.dli_fbase == of_plugin.dli_fbase;
}

/* A hook as an address: dladdr takes data pointers. */
union hook {
    enum gnn_status (*open)(const struct gnn_env *env, const void *config, void **state, struct gnn_err *err);
    enum gnn_status (*train_epoch)(void *state, uint64_t epoch, struct gnn_epoch_result *out, struct gnn_err *err);
    void (*close)(void *state);
    const void *address;
};

static enum gnn_status check_hooks(const char *path, const struct gnn_plugin *plugin, struct gnn_err *err)
{
    const struct gnn_system *const s = plugin->system;
    const struct {
        const char *name;
        union hook hook;
    } hooks[] = {
        {"open", {.open = s->open}}, {"train_epoch", {.train_epoch = s->train_epoch}}, {"close", {.close = s->close}}};
    for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++)
        if (hooks[i].hook.address == NULL)
            return gnn_fail(err, GNN_EUSAGE, "--system %s: .%s of its table is NULL; every system has this hook", path,
                            hooks[i].name);
    if ((s->variants & GNN_VARIANT_LINK) != 0 && s->read_embeddings == NULL)
        return gnn_fail(err, GNN_EUSAGE,
                        "--system %s: .read_embeddings of its table is NULL; remove GNN_VARIANT_LINK or write the hook",
                        path);
    if (s->workers_max > 1 && (s->open_shared == NULL) != (s->close_shared == NULL))
        return gnn_fail(err, GNN_EUSAGE, "--system %s: its table has one of .open_shared and .close_shared; set both",
                        path);
    for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++)
        if (!is_inside(hooks[i].hook.address, plugin) || !is_inside(s, plugin))
            return gnn_fail(err, GNN_EUSAGE,
                            "--system %s: .%s of its table is in another file, since both have the name; compile it "
                            "with -fvisibility=hidden",
                            path, hooks[i].name);
    return GNN_OK;
}

static enum gnn_status check_plugin(const char *path, const struct gnn_plugin *plugin, struct gnn_err *err)
{
    if (plugin == NULL)
        return gnn_fail(err, GNN_EUSAGE,
                        "--system %s: it does not export `" GNN_PLUGIN_SYMBOL
                        "`; end a file of it with GNN_PLUGIN(TABLE) "
                        "of harness/system/plugin.h",
                        path);
    if (plugin->abi != GNN_SYSTEM_ABI)
        return gnn_fail(err, GNN_ENOTSUP, "--system %s: ABI number %" PRIu32 ", this program has %d; " REBUILD, path,
                        plugin->abi, GNN_SYSTEM_ABI);
    if (plugin->structs == NULL || plugin->system == NULL)
        return gnn_fail(err, GNN_EUSAGE, "--system %s: its table is empty; end a file of it with GNN_PLUGIN(TABLE)",
                        path);
    GNN_TRY(check_structs(path, plugin, err));
    if (plugin->system->abi != GNN_SYSTEM_ABI)
        return gnn_fail(err, GNN_ENOTSUP,
                        "--system %s: .abi of its struct gnn_system is %" PRIu32 ", expected %d; set "
                        "it to GNN_SYSTEM_ABI",
                        path, plugin->system->abi, GNN_SYSTEM_ABI);
    GNN_TRY(check_name(path, plugin->system, err));
    GNN_TRY(check_options(path, plugin->system, err));
    return check_hooks(path, plugin, err);
}

enum gnn_status gnn_plugin_open(const char *path, const struct gnn_system **out, struct gnn_err *err)
{
    assert(gnn_plugin_is_path(path)); /* dlopen looks in the directories of libraries otherwise */
    GNN_TRY(check_file(path, err));
    void *const object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (object == NULL)
        return not_loaded(path, err);
    const struct gnn_plugin *const plugin = dlsym(object, GNN_PLUGIN_SYMBOL);
    const enum gnn_status status = check_plugin(path, plugin, err);
    if (status != GNN_OK)
        (void)dlclose(object);
    else
        *out = plugin->system;
    return status;
}

const struct gnn_system *gnn_plugin_named(const char *name)
{
    const struct gnn_system *found = NULL;
    struct link_map *map = NULL;
    void *const program = dlopen(NULL, RTLD_LAZY);
    if (program == NULL)
        return NULL;
    if (dlinfo(program, RTLD_DI_LINKMAP, &map) != 0)
        map = NULL; /* no list: nothing is found */
    for (; map != NULL && found == NULL; map = map->l_next) {
        void *const object = strchr(map->l_name, '/') == NULL ? NULL : dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
        const struct gnn_plugin *const plugin = object == NULL ? NULL : dlsym(object, GNN_PLUGIN_SYMBOL);
        if (plugin != NULL && check_plugin(map->l_name, plugin, NULL) == GNN_OK &&
            strcmp(plugin->system->name, name) == 0)
            found = plugin->system; /* loaded by gnn_plugin_open, which keeps it */
        if (object != NULL)
            (void)dlclose(object);
    }
    (void)dlclose(program);
    return found;
}

/* ---- the digest ---- */

enum gnn_status gnn_plugin_digest(const char *path, char text[GNN_CHECKSUM_TEXT], struct gnn_err *err)
{
    char *buffer = NULL;
    struct gnn_checksum *sum = NULL;
    FILE *const file = fopen(path, "rb");
    if (file == NULL)
        return gnn_fail(err, gnn_errno_status(errno, GNN_ENOENT), "--system %s: %s", path, strerror(errno));
    enum gnn_status status = gnn_checksum_open(&sum, err);
    if (status == GNN_OK && (buffer = malloc(READ_BYTES)) == NULL)
        status = gnn_fail(err, GNN_ENOMEM, "digest of %s", path);
    for (size_t bytes = READ_BYTES; status == GNN_OK && bytes == READ_BYTES;) {
        bytes = fread(buffer, 1, READ_BYTES, file);
        gnn_checksum_add(sum, buffer, bytes);
    }
    if (status == GNN_OK && ferror(file) != 0)
        status = gnn_fail(err, GNN_EIO, "--system %s: %s", path, strerror(errno));
    if (status == GNN_OK)
        gnn_checksum_text(sum, text);
    gnn_checksum_close(sum);
    free(buffer);
    (void)fclose(file);
    return status;
}
