/* image_read_chips.c - reads what programs of several chips have: sections ZONE, CHAN and LINK. */
#include "emu/load/image_reader.h"

#include <string.h>

enum emu_status image_read_zones(struct image_reader *r)
{
    struct image_section *s = &r->section;
    uint32_t last = 0, record[2];
    size_t n = 0;

    if (r->src.version <= IMAGE_FORMAT_OF_ONE_CHIP)
        return EMU_OK;
    TRY(image_read_records(r, IMAGE_ZONE, sizeof(record), s, &n));
    for (size_t i = 0; i < n; i++) {
        memcpy(record, s->raw.data + i * sizeof(record), sizeof(record));
        if (i && record[0] <= last)
            return image_refuse(r, s, (long long)i, "zone %u, expected more than %u", record[0],
                                last);
        TRY(image_refused(r, s, (long long)i,
                          image_set_zone(r->im, record[0], (enum sync_scope)record[1])));
        last = record[0];
    }
    return EMU_OK;
}

static enum emu_status add_channels(struct image_reader *r, uint32_t channels, uint32_t parts)
{
    struct image_section *s = &r->section;
    const uint8_t *record = s->raw.data + 8;
    const void *raw = record + IMAGE_CHANNEL_RECORD_BYTES * (size_t)channels;
    const struct image_channel_part *part = raw;
    uint32_t left = parts;

    for (uint32_t i = 0; i < channels; i++, record += IMAGE_CHANNEL_RECORD_BYTES) {
        struct image_channel c = { 0 };

        memcpy(&c, record, IMAGE_CHANNEL_RECORD_BYTES);
        if (c.parts > left)
            return image_refuse(r, s, i, "%u parts, expected at most the %u left", c.parts, left);
        TRY(image_refused(r, s, i, image_add_channel(r->im, &c, part)));
        part += c.parts;
        left -= c.parts;
    }
    if (left)
        return image_refuse(r, s, NO_ITEM, "%u parts of no channel, expected none", left);
    return EMU_OK;
}

static enum emu_status read_channels(struct image_reader *r)
{
    struct image_section *s = &r->section;
    uint32_t count[2];

    TRY(section_read(&r->src, IMAGE_CHAN, IMAGE_SECTION_BYTES_MAX, s));
    if (s->bytes < sizeof(count))
        return image_refuse(r, s, NO_ITEM, "%zu bytes, expected two counts", s->bytes);
    memcpy(count, s->raw.data, sizeof(count));
    if (s->bytes != 8 + IMAGE_CHANNEL_RECORD_BYTES * (uint64_t)count[0] +
                        sizeof(struct image_channel_part) * (uint64_t)count[1])
        return image_refuse(r, s, NO_ITEM, "%zu bytes, expected those of %u channels and %u parts",
                            s->bytes, count[0], count[1]);
    return add_channels(r, count[0], count[1]);
}

static enum emu_status read_links(struct image_reader *r)
{
    struct image_section *s = &r->link;
    struct image_link link;
    size_t n = 0;

    TRY(image_read_records(r, IMAGE_LINK, sizeof(link), s, &n));
    for (size_t i = 0; i < n; i++) {
        memcpy(&link, s->raw.data + i * sizeof(link), sizeof(link));
        TRY(image_refused(r, s, (long long)i, image_add_link(r->im, &link)));
    }
    return EMU_OK;
}

enum emu_status image_read_chips(struct image_reader *r)
{
    if (r->src.version <= IMAGE_FORMAT_OF_ONE_CHIP)
        return EMU_OK;
    TRY(read_channels(r));
    return read_links(r);
}

enum emu_status image_check_headers(const struct image_reader *r)
{
    struct link_header h;

    for (size_t i = 0; i < r->im->links; i++)
        TRY(image_refused(r, &r->link, (long long)i, image_link_header(r->im, i, &h)));
    return EMU_OK;
}
