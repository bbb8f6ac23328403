/* See msgpack.h. */
#define _GNU_SOURCE
#include "hip/msgpack.h"

#include <string.h>

static bool take(struct gdx_pack *pack, size_t bytes, uint64_t *value)
{
    if ((size_t)(pack->end - pack->at) < bytes)
        return false;
    for (*value = 0; bytes; bytes--)
        *value = *value << 8 | *pack->at++;
    return true;
}

static bool take_text(struct gdx_pack *pack, struct gdx_item *item, uint64_t bytes)
{
    if ((uint64_t)(pack->end - pack->at) < bytes)
        return false;
    item->text = (const char *)pack->at;
    item->number = bytes;
    pack->at += bytes;
    return true;
}

/* The formats that have their length in bytes of their own, from 0xc0 on. */
static bool take_long(struct gdx_pack *pack, struct gdx_item *item, uint8_t head)
{
    static const uint8_t fixed[] = { 1, 2, 4, 8, 16 };
    uint64_t bytes = 0;
    if (head >= 0xcc && head <= 0xd3) {                       /* uint 8..64, int 8..64 */
        item->kind = GDX_ITEM_NUMBER;
        return take(pack, (size_t)1 << ((head - 0xcc) & 3), &item->number);
    }
    if (head >= 0xd9 && head <= 0xdb) {                       /* str 8, 16, 32 */
        item->kind = GDX_ITEM_TEXT;
        return take(pack, (size_t)1 << (head - 0xd9), &bytes) && take_text(pack, item, bytes);
    }
    if (head >= 0xdc) {                                       /* array 16, 32, map 16, 32 */
        item->kind = head < 0xde ? GDX_ITEM_LIST : GDX_ITEM_MAP;
        return take(pack, head & 1 ? 4 : 2, &item->number);
    }
    if (head >= 0xc4 && head <= 0xc6)                         /* bin 8, 16, 32 */
        return take(pack, (size_t)1 << (head - 0xc4), &bytes) && take_text(pack, item, bytes);
    if (head >= 0xc7 && head <= 0xc9)                         /* ext 8, 16, 32: a byte for the type */
        return take(pack, (size_t)1 << (head - 0xc7), &bytes) && take_text(pack, item, bytes + 1);
    if (head >= 0xd4 && head <= 0xd8)                         /* fixext */
        return take_text(pack, item, fixed[head - 0xd4] + 1u);
    return head < 0xc4 || take(pack, head == 0xca ? 4 : 8, &bytes);  /* nil, bool; float 32, 64 */
}

bool gdx_pack_next(struct gdx_pack *pack, struct gdx_item *item)
{
    uint64_t head;
    *item = (struct gdx_item){ 0 };
    if (!take(pack, 1, &head))
        return false;
    if (head < 0x80 || head >= 0xe0) {
        item->kind = GDX_ITEM_NUMBER;
        item->number = head < 0x80 ? head : (uint64_t)(int64_t)(int8_t)head;
        return true;
    }
    if (head < 0xa0) {
        item->kind = head < 0x90 ? GDX_ITEM_MAP : GDX_ITEM_LIST;
        item->number = head & 15;
        return true;
    }
    if (head < 0xc0) {
        item->kind = GDX_ITEM_TEXT;
        return take_text(pack, item, head & 31);
    }
    return take_long(pack, item, (uint8_t)head);
}

/* Every item has at least one byte, so a count that cannot be true ends at the end of the bytes. */
bool gdx_pack_skip(struct gdx_pack *pack)
{
    struct gdx_item item;
    for (uint64_t left = 1; left; left--) {
        if (!gdx_pack_next(pack, &item))
            return false;
        if (item.kind == GDX_ITEM_LIST)
            left += item.number;
        if (item.kind == GDX_ITEM_MAP)
            left += 2 * item.number;
    }
    return true;
}

bool gdx_pack_is(const struct gdx_item *item, const char *text)
{
    return item->kind == GDX_ITEM_TEXT && item->number == strlen(text) && !memcmp(item->text, text, item->number);
}

bool gdx_pack_find(struct gdx_pack *pack, const char *key)
{
    struct gdx_item map, item;
    if (!gdx_pack_next(pack, &map) || map.kind != GDX_ITEM_MAP)
        return false;
    for (uint64_t i = 0; i < map.number; i++) {
        if (!gdx_pack_next(pack, &item))
            return false;
        if (gdx_pack_is(&item, key))
            return true;
        if (!gdx_pack_skip(pack))
            return false;
    }
    return false;
}

uint64_t gdx_pack_number(struct gdx_pack map, const char *key)
{
    struct gdx_item item;
    return gdx_pack_find(&map, key) && gdx_pack_next(&map, &item) && item.kind == GDX_ITEM_NUMBER ? item.number : 0;
}
