/* SPDX-License-Identifier: MIT */
/* Whole numbers of a run's record. Header only. */
#ifndef GNN_TESTS_RUN_FIGURES_H
#define GNN_TESTS_RUN_FIGURES_H

#include <jansson.h>
#include <string.h>

/* A whole number of a part of the record, or where that is NULL of the record itself; 0: there is none. */
static inline json_int_t whole(const json_t *run, const char *part, const char *key)
{
    const json_t *const object = part == NULL ? run : json_object_get(run, part);
    return json_integer_value(json_object_get(object, key));
}

/* The same of its first epoch. */
static inline json_int_t first_epoch(const json_t *run, const char *key)
{
    return whole(json_array_get(json_object_get(run, "epochs"), 0), NULL, key);
}

/* The sum of an epoch's figures whose names begin so. */
static inline json_int_t sum_of_figures(const json_t *epoch, const char *beginning)
{
    const char *name;
    json_t *value;
    json_int_t sum = 0;
    json_object_foreach(json_object_get(epoch, "figures"), name,
                        value) if (strncmp(name, beginning, strlen(beginning)) == 0) sum += json_integer_value(value);
    return sum;
}

#endif
