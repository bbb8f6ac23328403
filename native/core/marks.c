/* Parts of its run that a program names: tests, steps, requests. It looks for gpudx_mark by its name (dlsym, ctypes) and
 * calls it if there is one; without the recorder there is none. Marks go to the ledger, so that the part a call was made in is
 * known even when older calls were overwritten. Not for the hot path: a mark is written at once. */
#include "core/recorder.h"

GDX_EXPORT void gpudx_mark(int begins, const char *name);

GDX_EXPORT void gpudx_mark(int begins, const char *name)
{
    if (!name || !gdx_on())
        return;
    uint64_t word = begins != 0;
    gdx_note(GDX_CALL_note_mark, &word, 1, (struct gdx_text){ name, strnlen(name, GDX_TEXT_MAX) }, (struct gdx_text){ 0 }, NULL, 0);
}
