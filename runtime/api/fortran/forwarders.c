/* The C side of module dwell: dwell.h's inline functions for names with a length. Linked into the
 * program; does nothing where libdwell.so is not loaded. */
#include "dwell.h"

void dwell_fortran_block_begin(const char* name, size_t bytes);
void dwell_fortran_block_end(const char* name, size_t bytes);
void dwell_fortran_block_end_any(void);
void dwell_fortran_block_volume(int64_t volume);
void dwell_fortran_mark(const char* name, size_t bytes, int64_t volume);
void dwell_fortran_phase_begin(const char* name, size_t bytes, int64_t iteration);
void dwell_fortran_phase_end(void);
void dwell_fortran_pause(void);
void dwell_fortran_resume(void);
void dwell_fortran_events_on(void);
void dwell_fortran_events_off(void);
int dwell_fortran_is_recording(void);
void dwell_fortran_grid(const char* name, size_t bytes, int dimensions, const int* sizes,
                        const int* periodic, const int* coordinates);
int dwell_fortran_query(const char* name, size_t bytes, struct dwell_figures* figures);
int dwell_fortran_query_partner(int rank, struct dwell_figures* figures);
void dwell_fortran_version(char* text, size_t budget);

void dwell_fortran_block_begin(const char* name, size_t bytes) {
    const struct dwell_entries* library = dwell_observing();
    if (library != NULL) library->begin(name, bytes);
}

void dwell_fortran_block_end(const char* name, size_t bytes) {
    const struct dwell_entries* library = dwell_observing();
    if (library != NULL) library->end(name, bytes);
}

void dwell_fortran_block_end_any(void) { dwell_block_end(NULL); }

void dwell_fortran_block_volume(int64_t volume) { dwell_block_volume((uint64_t)volume); }

void dwell_fortran_mark(const char* name, size_t bytes, int64_t volume) {
    const struct dwell_entries* library = dwell_observing();
    if (library != NULL) library->mark(name, bytes, (uint64_t)volume);
}

void dwell_fortran_phase_begin(const char* name, size_t bytes, int64_t iteration) {
    const struct dwell_entries* library = dwell_observing();
    if (library != NULL) library->phase_begin(name, bytes, (uint64_t)iteration);
}

void dwell_fortran_phase_end(void) { dwell_phase_end(); }

void dwell_fortran_pause(void) { dwell_pause(); }

void dwell_fortran_resume(void) { dwell_resume(); }

void dwell_fortran_events_on(void) { dwell_events_on(); }

void dwell_fortran_events_off(void) { dwell_events_off(); }

int dwell_fortran_is_recording(void) { return dwell_is_recording(); }

void dwell_fortran_grid(const char* name, size_t bytes, int dimensions, const int* sizes,
                        const int* periodic, const int* coordinates) {
    const struct dwell_entries* library = dwell_observing();
    if (library != NULL) library->grid(name, bytes, dimensions, sizes, periodic, coordinates);
}

int dwell_fortran_query(const char* name, size_t bytes, struct dwell_figures* figures) {
    const struct dwell_entries* library = dwell_observing();
    memset(figures, 0, sizeof(*figures));
    if (library == NULL || library->api_version < 2) return 0;
    return library->query(name, bytes, figures, sizeof(*figures));
}

int dwell_fortran_query_partner(int rank, struct dwell_figures* figures) {
    return dwell_query_partner(rank, figures);
}

/* Trailing blanks are not part of the text. */
void dwell_fortran_version(char* text, size_t budget) {
    const char* version = dwell_version();
    if (version == NULL) return;
    const size_t bytes = strlen(version);
    memcpy(text, version, bytes < budget ? bytes : budget);
}
