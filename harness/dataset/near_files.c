/* SPDX-License-Identifier: MIT */
#include "harness/dataset/near_files.h"

#include "harness/base/plain_text.h"
#include "harness/dataset/zip.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 3 };

static bool has_word(const char *name, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strcasestr(name, *words) != NULL)
            return true;
    return false;
}

const char *gnn_near_members(const char *archive, char text[GNN_NEAR_BYTES])
{
    struct gnn_zip *zip = NULL;
    struct gnn_zip_entry entry;
    char plain[GNN_NEAR_BYTES];
    bool more = true;
    text[0] = '\0';
    enum gnn_status status = gnn_zip_open(archive, &zip, NULL);
    for (int shown = 0; status == GNN_OK && shown < SHOWN; shown++) {
        status = gnn_zip_next(zip, &entry, &more, NULL);
        if (status != GNN_OK || !more)
            break;
        gnn_text_list(text, GNN_NEAR_BYTES, "%s", gnn_text_plain(entry.name, plain, sizeof plain));
    }
    gnn_zip_close(zip);
    return text;
}

const char *gnn_near_files(const char *dir, const char *const *words, char text[GNN_NEAR_BYTES])
{
    struct dirent **entries;
    char plain[GNN_NEAR_BYTES];
    int shown = 0;
    const int count = scandir(dir, &entries, NULL, alphasort);
    text[0] = '\0';
    if (count < 0)
        return text;
    for (int i = 0; i < count; i++) {
        if (entries[i]->d_name[0] != '.' && entries[i]->d_type != DT_DIR && shown < SHOWN &&
            has_word(entries[i]->d_name, words)) {
            gnn_text_list(text, GNN_NEAR_BYTES, "%s", gnn_text_plain(entries[i]->d_name, plain, sizeof plain));
            shown++;
        }
        free(entries[i]);
    }
    free(entries);
    return text;
}
