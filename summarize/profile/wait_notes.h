// The notes on waiting that was estimated, guessed or remains unknown (DESIGN 4 and 5.7).
#ifndef DWELL_SUMMARIZE_PROFILE_WAIT_NOTES_H_
#define DWELL_SUMMARIZE_PROFILE_WAIT_NOTES_H_

#include "summarize/profile/note_writer.h"

namespace dwell {

// Adds one sentence for each such case, and none when all waiting is measured.
void add_wait_notes(NoteWriter* notes);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_PROFILE_WAIT_NOTES_H_
