/* What the recorder left undone because it would have taken too long: each is counted, and the report shows it, so that a run on a
 * busy machine is not mistaken for one in which there was nothing to see. */
#pragma once

/* `what`: a string constant, a sentence without its full stop. Never on the path of a call that went well. */
void gdx_gave_up(const char *what);

/* What more than one driver's hooks give up. */
#define GDX_STAYS_ACCESSIBLE \
    "A buffer that was freed in the order of a stream stayed accessible, because the stream did not end within 2 s"
