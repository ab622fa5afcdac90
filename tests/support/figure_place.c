#include "tests/support/figure_place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

int figure_place_make(void **state)
{
    struct figure_place *const p = calloc(1, sizeof *p);
    assert_non_null(p);
    p->dir = process_temp_dir();
    (void)snprintf(p->prefix, sizeof p->prefix,
                   "export XDG_DATA_HOME=%s; cd /; O=%s/%s; [ -x $O ] || O=%s; DB='--db %s/f.db --out %s/out';", p->dir,
                   getenv("PWD") != NULL ? getenv("PWD") : ".", process_program(), process_program(), p->dir, p->dir);
    struct process_result r = process_shell("mkdir -p %s/oocgnn/figures %s/oocgnn/published", p->dir, p->dir);
    assert_int_equal(r.exit_status, 0);
    process_free(&r);
    *state = p;
    return 0;
}

int figure_place_remove(void **state)
{
    struct figure_place *const p = *state;
    process_remove_tree(p->dir);
    free(p->dir);
    free(p);
    return 0;
}

void figure_write(const struct figure_place *p, const char *id, const char *text)
{
    char name[200];
    (void)snprintf(name, sizeof name, "oocgnn/figures/%s.ini", id);
    process_write_file(p->dir, name, 0644, "%s", text);
}

struct process_result figure_run(const struct figure_place *p, const char *words)
{
    return process_shell("%s $O figure %s $DB", p->prefix, words);
}

void figure_check(const struct process_result *r, int exit_status, const char *const *parts)
{
    bool all = r->exit_status == exit_status;
    while (all && *parts != NULL) {
        all = strstr(r->out, *parts) != NULL || strstr(r->err, *parts) != NULL;
        parts += all ? 1 : 0;
    }
    if (!all)
        fail_msg("exit %d, expected %d and \"%s\":\n%s%s", r->exit_status, exit_status, *parts != NULL ? *parts : "",
                 r->out, r->err);
}

void figure_expect(const struct figure_place *p, const char *words, int exit_status, const char *const *parts)
{
    struct process_result r = figure_run(p, words);
    figure_check(&r, exit_status, parts);
    process_free(&r);
}

char *figure_read(const struct figure_place *p, const char *name)
{
    struct process_result r = process_shell("cat %s/%s", p->dir, name);
    char *const text = strdup(r.out);
    process_free(&r);
    assert_non_null(text);
    return text;
}
