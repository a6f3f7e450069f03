import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../../src/kit/json.ts';
import { takeRows } from '../../src/mounts/take-rows.ts';

const text = (value: string) => ({ type: 'text', text: value });
const asText = (body: Json, ...others: Json[]): JsonObject => ({
  content: [text(JSON.stringify(body)), ...others],
});
const price = { path: ['found', 'items'], each: 1n, max: 2 };
const found = (...items: Json[]) => ({ found: { items }, total: 9 });
const note = text(
  'These are the first 2 of 3 rows: no more are sold in one call. The others were not charged.',
);

describe('rows of an answer', () => {
  it.each([
    ['structured content', { ...asText('whatever'), structuredContent: found(1, 2) }, 2],
    ['the only text', asText(found(1, 2), { type: 'image', data: '', mimeType: 'image/png' }), 2],
    ['an empty list', asText(found()), 0],
    ['null', asText({ found: { items: null } }), 0],
  ])('are counted in %s, which stays as it is', (_where, answer, count) => {
    const before = structuredClone(answer);
    expect(takeRows(answer, price)).toBe(count);
    expect(answer).toEqual(before);
  });

  it('are counted in a text that is a list itself', () => {
    expect(takeRows(asText([1, 2]), { ...price, path: [] })).toBe(2);
  });

  it('beyond the most are cut from the structured content and from the text, which says so', () => {
    const answer = { ...asText(found(1, 2, 3)), structuredContent: found({ a: 1 }, 2, 3) };
    expect(takeRows(answer, price)).toBe(2);
    expect(answer).toEqual({
      content: [text(JSON.stringify(found({ a: 1 }, 2))), note],
      structuredContent: found({ a: 1 }, 2),
    });
  });

  it.each([
    ['a text', [text(JSON.stringify(found(1, 2, 3, 4)))]],
    ['one of several texts', [text('Found:'), text(JSON.stringify(found(1, 2, 3, 4)))]],
  ])('that %s has beyond those of the structured content are cut', (_where, content) => {
    const answer = { content, structuredContent: found(1) };
    expect(takeRows(answer, price)).toBe(1);
    expect(answer).toEqual({
      content: [
        text(JSON.stringify(found(1))),
        text(
          'The text of this answer had 4 rows, and its structured content 1: these alone were passed on and charged.',
        ),
      ],
      structuredContent: found(1),
    });
  });

  it('are taken out of the text where the structured content has none', () => {
    const answer: JsonObject = { ...asText(found(1, 2)), structuredContent: { found: { items: null } } };
    expect(takeRows(answer, price)).toBe(0);
    expect(JSON.stringify(answer['content'])).toContain('its structured content 0');
    expect(takeRows({ ...asText({}), structuredContent: { found: { items: null } } }, price)).toBe(0);
  });

  it('are cut from an answer that is only a text', () => {
    const answer = asText(found(1, 2, 3), { type: 'image', data: '', mimeType: 'image/png' });
    expect(takeRows(answer, price)).toBe(2);
    expect(answer).toEqual({ content: [text(JSON.stringify(found(1, 2))), note] });
  });

  it.each([
    ['no JSON', { content: [text('1, 2, 3')] }],
    ['two texts', asText(found(1), text('{}'))],
    ['no text', { content: [] }],
    ['another form', asText({ found: [1, 2] })],
    ['an object in its place', asText({ found: { items: { length: 1 } } })],
    ['other structured content', { ...asText(found(1)), structuredContent: { found: 1 } }],
    ['a member that every object has', asText({ found: {} })],
  ])('are not counted in %s', (_what, answer) => {
    expect(takeRows(answer, price)).toBeNull();
  });
});
