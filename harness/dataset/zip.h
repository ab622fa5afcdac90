/* SPDX-License-Identifier: MIT */
/* Reads members of a zip archive in place, as NumPy's .npz files and PyTorch's .pt files are. Internal to
 * harness/dataset/.
 * Source: PKWARE's APPNOTE.TXT. Supported: stored and deflated members, zip64. The names, sizes and offsets come from
 * the central directory, so archives that were written as a stream are readable, too.
 *
 *   struct gnn_zip *zip;
 *   GNN_TRY(gnn_zip_open("data.npz", &zip, err));
 *   gnn_zip_next(zip, &entry, &more, err);           until more is false
 *   gnn_zip_member_open(zip, &entry, &member, err);  zip must stay open while a member is read */
#ifndef GNN_DATASET_ZIP_H
#define GNN_DATASET_ZIP_H

#include "harness/dataset/output.h"

enum { GNN_ZIP_NAME = 256 };

struct gnn_zip;
struct gnn_zip_member;

struct gnn_zip_entry {
    char name[GNN_ZIP_NAME]; /* a longer name is cut */
    uint64_t bytes;          /* unpacked */
    uint64_t packed_bytes;
    uint64_t header_offset;
    uint32_t crc; /* of the unpacked bytes */
    uint16_t method, flags;
};

/* Opens an archive and finds its central directory. Returns GNN_ENOENT or GNN_EPERM, which name the path, or
 * GNN_EFORMAT for a file that is damaged, truncated, or no zip archive. */
GNN_MUST_CHECK enum gnn_status gnn_zip_open(const char *path, struct gnn_zip **out, struct gnn_err *err);
void gnn_zip_close(struct gnn_zip *zip); /* accepts NULL */

/* Reads the next entry of the central directory. *more is false at its end. Returns GNN_EFORMAT for a damaged entry. */
GNN_MUST_CHECK enum gnn_status gnn_zip_next(struct gnn_zip *zip, struct gnn_zip_entry *out, bool *more,
                                            struct gnn_err *err);

/* Finds the member `name` of an open archive. Starts at the first entry. */
GNN_MUST_CHECK enum gnn_status gnn_zip_find(struct gnn_zip *zip, const char *name, struct gnn_zip_entry *out,
                                            bool *found, struct gnn_err *err);

/* Opens a member for reading from its start. Returns GNN_EFORMAT for an encrypted member or another compression; the
 * message names the command that unpacks it. */
GNN_MUST_CHECK enum gnn_status gnn_zip_member_open(struct gnn_zip *zip, const struct gnn_zip_entry *entry,
                                                   struct gnn_zip_member **out, struct gnn_err *err);
void gnn_zip_member_close(struct gnn_zip_member *member); /* accepts NULL */

/* Reads up to `bytes` unpacked bytes. *got is less only at the end. Returns GNN_EFORMAT for damaged data. At the end of
 * a member that was read without a seek its checksum is compared. */
GNN_MUST_CHECK enum gnn_status gnn_zip_member_read(struct gnn_zip_member *member, void *dst, uint64_t bytes,
                                                   uint64_t *got, struct gnn_err *err);

/* Moves to an offset of the unpacked bytes. A deflated member is read up to there, from its start if the offset is
 * behind. */
GNN_MUST_CHECK enum gnn_status gnn_zip_member_seek(struct gnn_zip_member *member, uint64_t offset, struct gnn_err *err);

/* Returns whether a seek costs no reading. */
bool gnn_zip_member_stored(const struct gnn_zip_member *member);
uint64_t gnn_zip_member_bytes(const struct gnn_zip_member *member);  /* unpacked */
uint64_t gnn_zip_member_offset(const struct gnn_zip_member *member); /* of the next unpacked byte */
uint64_t gnn_zip_member_packed(const struct gnn_zip_member *member); /* packed bytes read, for progress */

#endif
