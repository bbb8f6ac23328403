/* SPIR-V (Khronos, "SPIR-V Specification", "Physical Layout of a SPIR-V Module"): five words, then instructions. The first word of
 * each has its length in words in the upper half and its number in the lower. Types and names come before all functions.
 *
 * Read when a kernel is first launched, so types are looked for by going through the module again: there are few of them, and
 * nothing has to be kept. Nothing is believed: every length is checked. */
#define _GNU_SOURCE
#include "hip/spirv.h"

#include <string.h>

enum { HEADER = 5, NESTING_MAX = 8, PARAMS_MAX = 256 };
enum {
    ENTRY_POINT = 15, EXECUTION_MODE = 16, BOOL = 20, INT = 21, FLOAT = 22, VECTOR = 23, ARRAY = 28, STRUCT = 30, POINTER = 32,
    CONSTANT = 43, FUNCTION = 54, FUNCTION_PARAMETER = 55, DECORATE = 71,
    KERNEL_MODEL = 6, LOCAL_SIZE = 17, PARAMETER_ATTRIBUTE = 38, BY_VALUE = 2,
};
static const uint32_t magic = 0x07230203;

struct module { const uint32_t *words; size_t count; };
struct instruction { uint32_t code, size; const uint32_t *operands; size_t next; };  /* size: of the operands */
struct extent { uint64_t bytes, align; };

bool gdx_is_spirv(const void *module, uint64_t bytes)
{
    uint32_t first;
    if (bytes < HEADER * sizeof first)
        return false;
    memcpy(&first, module, sizeof first);
    return first == magic;
}

static bool next(const struct module *module, size_t at, struct instruction *found)
{
    if (at >= module->count)
        return false;
    uint32_t head = module->words[at], size = head >> 16;
    if (!size || size > module->count - at)
        return false;
    *found = (struct instruction){ head & 0xffff, size - 1, module->words + at + 1, at + size };
    return true;
}

/* ---- finding ---- */

static bool is_text(const uint32_t *words, uint32_t count, const char *text)
{
    size_t room = count * sizeof *words;
    return strnlen((const char *)words, room) < room && !strcmp((const char *)words, text);
}

static uint32_t entry_point(const struct module *module, const char *name)
{
    struct instruction i;
    for (size_t at = HEADER; next(module, at, &i) && i.code != FUNCTION; at = i.next)
        if (i.code == ENTRY_POINT && i.size > 2 && i.operands[0] == KERNEL_MODEL && is_text(i.operands + 2, i.size - 2, name))
            return i.operands[1];
    return 0;
}

/* The type or constant of this number: where a constant's is depends on its form. */
static bool definition(const struct module *module, uint32_t number, struct instruction *found)
{
    for (size_t at = HEADER; next(module, at, found) && found->code != FUNCTION; at = found->next) {
        bool type = found->code >= BOOL && found->code <= POINTER && found->size && found->operands[0] == number;
        if (type || (found->code == CONSTANT && found->size > 2 && found->operands[1] == number))
            return true;
    }
    return false;
}

static bool is_by_value(const struct module *module, uint32_t parameter)
{
    struct instruction i;
    for (size_t at = HEADER; next(module, at, &i) && i.code != FUNCTION; at = i.next)
        if (i.code == DECORATE && i.size > 2 && i.operands[0] == parameter && i.operands[1] == PARAMETER_ATTRIBUTE
            && i.operands[2] == BY_VALUE)
            return true;
    return false;
}

static void read_required(const struct module *module, uint32_t kernel, uint64_t required[3])
{
    struct instruction i;
    for (size_t at = HEADER; next(module, at, &i) && i.code != FUNCTION; at = i.next)
        if (i.code == EXECUTION_MODE && i.size > 4 && i.operands[0] == kernel && i.operands[1] == LOCAL_SIZE)
            for (int d = 0; d < 3; d++)
                required[d] = i.operands[2 + d];
}

/* ---- sizes, as C has them ---- */

static uint64_t up(uint64_t value, uint64_t multiple)
{
    return multiple ? (value + multiple - 1) / multiple * multiple : value;
}

static struct extent extent_of(const struct module *module, uint32_t type, int depth);

static struct extent extent_of_struct(const struct module *module, const struct instruction *type, int depth)
{
    struct extent whole = { 0, 1 };
    for (uint32_t i = 1; i < type->size; i++) {
        struct extent member = extent_of(module, type->operands[i], depth + 1);
        if (!member.bytes)
            return (struct extent){ 0, 0 };
        whole.bytes = up(whole.bytes, member.align) + member.bytes;
        whole.align = member.align > whole.align ? member.align : whole.align;
    }
    whole.bytes = up(whole.bytes, whole.align);
    return whole;
}

/* bytes 0: not known. */
static struct extent extent_of(const struct module *module, uint32_t type, int depth)
{
    struct instruction t, length;
    if (depth > NESTING_MAX || !definition(module, type, &t))
        return (struct extent){ 0, 0 };
    if (t.code == POINTER)
        return (struct extent){ sizeof(void *), sizeof(void *) };
    if (t.code == BOOL)
        return (struct extent){ 1, 1 };
    if ((t.code == INT || t.code == FLOAT) && t.size > 1)
        return (struct extent){ t.operands[1] / 8, t.operands[1] / 8 };
    if (t.code == STRUCT)
        return extent_of_struct(module, &t, depth);
    if (t.size < 3 || (t.code != VECTOR && t.code != ARRAY))
        return (struct extent){ 0, 0 };
    struct extent one = extent_of(module, t.operands[1], depth + 1);
    if (t.code == VECTOR) {  /* of three elements it takes the room of four */
        one.bytes *= t.operands[2] == 3 ? 4 : t.operands[2];
        one.align = one.bytes;
        return one;
    }
    one.bytes *= definition(module, t.operands[2], &length) && length.code == CONSTANT ? length.operands[2] : 0;
    return one;
}

/* ---- parameters ---- */

struct param { uint32_t type, number; };

static bool find_function(const struct module *module, uint32_t function, size_t *behind)
{
    struct instruction i;
    for (size_t at = HEADER; next(module, at, &i); at = i.next)
        if (i.code == FUNCTION && i.size > 1 && i.operands[1] == function) {
            *behind = i.next;
            return true;
        }
    return false;
}

static uint32_t read_params(const struct module *module, size_t at, struct param params[PARAMS_MAX])
{
    struct instruction i;
    uint32_t count = 0;
    for (; next(module, at, &i) && i.code == FUNCTION_PARAMETER && i.size > 1 && count < PARAMS_MAX; at = i.next)
        params[count++] = (struct param){ i.operands[0], i.operands[1] };
    return count;
}

/* A structure by value is a pointer that says so. */
static struct extent passed(const struct module *module, struct param param)
{
    struct instruction type;
    if (definition(module, param.type, &type) && type.code == POINTER && type.size > 2 && is_by_value(module, param.number))
        return extent_of(module, type.operands[2], 0);
    return extent_of(module, param.type, 0);
}

struct gdx_layout *gdx_spirv_layout(const void *data, size_t bytes, const char *name, uint64_t required[3])
{
    struct param params[PARAMS_MAX];
    struct module module = { data, bytes / sizeof(uint32_t) };
    uint32_t kernel = (uintptr_t)data % sizeof(uint32_t) ? 0 : entry_point(&module, name);
    size_t at = 0;
    if (!kernel || !find_function(&module, kernel, &at))
        return NULL;
    uint32_t count = read_params(&module, at, params);
    struct gdx_layout *layout = gdx_layout_begin(count);
    uint64_t offset = 0;
    for (uint32_t i = 0; layout && i < count; i++) {
        struct extent extent = passed(&module, params[i]);
        if (!extent.bytes)
            return NULL;
        offset = up(offset, extent.align);
        gdx_layout_add(layout, i, offset, extent.bytes);
        offset += extent.bytes;
    }
    read_required(&module, kernel, required);
    return layout;
}
