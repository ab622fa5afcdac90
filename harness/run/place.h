/* The place a run happens in: the one file that knows that there are two worlds (DESIGN section 3). It opens the world
 * of the configuration, its dataset and its tensor back-end; nobody above asks which it was, but for what a record must
 * say (gnn_place_facts). */
#ifndef GNN_RUN_PLACE_H
#define GNN_RUN_PLACE_H

#include "harness/base/reading.h"
#include "harness/run/config.h"

struct gnn_place;

struct gnn_place_hooks {
    void (*on_deadlock)(void *ctx, const char *report); /* simulated: does not return */
    void *ctx;
};

/* Errors: those of the worlds, GNN_EUSAGE for an unknown profile. */
GNN_MUST_CHECK enum gnn_status gnn_place_open(const struct gnn_run_config *config, const struct gnn_place_hooks *hooks,
                                              struct gnn_place **out, struct gnn_err *err);
void gnn_place_close(struct gnn_place *place); /* accepts NULL; everything opened in the world is closed */

struct gnn_world *gnn_place_world(struct gnn_place *place); /* with the run's faults, if any */

/* The prepared dataset, or in the simulated world the registry's graph without one. The place keeps it. */
GNN_MUST_CHECK enum gnn_status gnn_place_dataset(struct gnn_place *place, const struct gnn_dataset **out,
                                                 struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_place_tensor(struct gnn_place *place, struct gnn_tensor **out, struct gnn_err *err);

/* What the run has used so far. Of a modelled machine everything is the model's, and the group too, which in the
 * measured world is read from outside (unknown here). */
struct gnn_place_usage {
    bool modelled_machine;
    uint64_t cpu_ns;
    uint64_t major_faults;
    uint64_t page_hits, page_misses; /* touched pages that were cached, and that were not; GNN_UNKNOWN: not counted */
    struct gnn_group_reading group;
};
void gnn_place_usage(struct gnn_place *place, struct gnn_place_usage *out);

/* What the process itself takes of the cap: the profile's figure; 0 in the measured world, where nobody knows. */
uint64_t gnn_place_process_bytes(const struct gnn_place *place);

const char *gnn_place_profile_digest(const struct gnn_place *place); /* "" without a profile */

/* ---- what the configuration says about it ---- */

/* Whether --compute is a model, so that there are no values: loss and accuracy stay unknown. */
bool gnn_compute_is_modelled(const struct gnn_run_config *config);

/* Replaces words that stand for something else: --compute auto, cpu and cuda of the simulated world become
 * model:PROFILE/cpu or /gpu. GNN_EUSAGE, GNN_ENOTSUP with a remedy. */
GNN_MUST_CHECK enum gnn_status gnn_place_resolve(struct gnn_run_config *config, struct gnn_err *err);

#endif
