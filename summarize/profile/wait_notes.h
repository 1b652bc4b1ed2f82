// What of the waiting was estimated, guessed or is not known (DESIGN 4 and 5.7).
#ifndef DWELL_SUMMARIZE_PROFILE_WAIT_NOTES_H_
#define DWELL_SUMMARIZE_PROFILE_WAIT_NOTES_H_

#include "summarize/profile/note_writer.h"

namespace dwell {

// Adds a sentence for each such thing; none where everything is known.
void add_wait_notes(NoteWriter* notes);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_PROFILE_WAIT_NOTES_H_
