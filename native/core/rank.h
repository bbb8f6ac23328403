#pragma once

void gdx_note_rank(void);  /* once per trace */
