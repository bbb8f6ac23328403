/* As much of MessagePack (specification at msgpack.org) as the metadata of AMD code objects needs: walking, nothing is
 * allocated, nothing is believed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gdx_pack { const uint8_t *at, *end; };
enum gdx_item_kind { GDX_ITEM_OTHER, GDX_ITEM_NUMBER, GDX_ITEM_TEXT, GDX_ITEM_LIST, GDX_ITEM_MAP };
struct gdx_item {
    enum gdx_item_kind kind;
    uint64_t number;   /* the value, the bytes of a text, or how many items a list or pairs a map has */
    const char *text;
};

bool gdx_pack_next(struct gdx_pack *pack, struct gdx_item *item);  /* false: the end, or not MessagePack */
bool gdx_pack_skip(struct gdx_pack *pack);                         /* the next item with all that is in it */
/* Goes to the value of a key in the map that comes next. */
bool gdx_pack_find(struct gdx_pack *pack, const char *key);
bool gdx_pack_is(const struct gdx_item *item, const char *text);
uint64_t gdx_pack_number(struct gdx_pack map, const char *key);    /* 0: there is none */
