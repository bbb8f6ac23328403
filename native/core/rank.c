/* The number that a launcher gave this process (torchrun, mpirun, srun, Ray): its own environment has it, also where a parent set it
 * after the process began. */
#include "core/rank.h"

#include <stdint.h>
#include <stdlib.h>

#include "core/recorder.h"

static const char *const ranks[] = { "RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "MV2_COMM_WORLD_RANK" };
static const char *const sizes[] = { "WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "", "PMI_SIZE", "SLURM_NTASKS", "MV2_COMM_WORLD_SIZE" };

static bool number(const char *name, uint64_t *value)
{
    const char *text = *name ? getenv(name) : NULL;
    char *end;
    if (!text || *text < '0' || *text > '9')
        return false;
    *value = strtoull(text, &end, 10);
    return !*end;
}

void gdx_note_rank(void)
{
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        uint64_t words[2] = { 0, 0 };
        if (number(ranks[i], &words[0])) {
            number(sizes[i], &words[1]);
            gdx_note(GDX_CALL_note_rank, words, 2, (struct gdx_text){ 0 }, (struct gdx_text){ 0 }, NULL, 0);
            return;
        }
    }
}
