import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isUuid, newApiKey, newId, randomBase62, sha256 } from '../../src/kit/ids.ts';
import { canonicalJson, parseVerbatim } from '../../src/kit/json.ts';

describe('identifiers', () => {
  it('makes keys of the brand with 43 base62 characters', () => {
    expect(newApiKey('causeway')).toMatch(/^sk_causeway_[0-9A-Za-z]{43}$/);
  });

  it('uses every base62 character about equally often', () => {
    const counts = new Map<string, number>();
    for (const character of randomBase62(62_000)) counts.set(character, (counts.get(character) ?? 0) + 1);
    expect(counts.size).toBe(62);
    for (const count of counts.values()) expect(Math.abs(count - 1000)).toBeLessThan(300);
  });

  it('makes UUIDs that begin with the time', () => {
    const before = Date.now();
    const [start, end, version] = newId().split('-');
    const time = Number.parseInt(`${start}${end}`, 16);
    expect(time).toBeGreaterThanOrEqual(before);
    expect(time).toBeLessThanOrEqual(Date.now());
    expect(version).toMatch(/^7/);
  });

  it('makes UUIDs in the order of their making, also within a millisecond', () => {
    const ids = Array.from({ length: 2_000 }, newId);
    expect(new Set(ids.map((id) => id.slice(0, 13))).size).toBeLessThan(ids.length);
    expect(ids).toEqual(ids.toSorted());
  });

  it('knows its own UUIDs', () => {
    expect(isUuid(newId())).toBe(true);
    expect(isUuid(`${newId()}0`)).toBe(false);
  });
});

describe('canonical JSON', () => {
  it('writes a number that was kept as its text by its value, unless digits would be lost', () => {
    const of = (text: string) => canonicalJson(parseVerbatim(text));
    expect(of('{"b":1.0,"a":[-0,0.10,1E2,120e-1,0e999]}')).toBe('{"a":[0,0.1,100,12,0],"b":1}');
    expect(of('{"a":12345678901234567890}')).not.toBe(of('{"a":12345678901234567891}'));
    expect(of('{"a":12345678901234567890}')).not.toBe(of('{"a":12345678901234567000}'));
    expect(of('{"a":1e400}')).not.toBe(of('{"a":1e401}'));
    expect(of('{"a":{"rawJSON":"1.0"}}')).toBe('{"a":{"rawJSON":"1.0"}}');
  });

  it('is the same for a number in any notation', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        const longer = value.toExponential().replace(/(?:\.(\d+))?e/, '.$10e');
        for (const text of [String(value), value.toExponential(), longer])
          expect(canonicalJson(parseVerbatim(`{"a":${text}}`))).toBe(canonicalJson({ a: value }));
      }),
    );
  });

  it('gives equal text to equal data with any order of members', () => {
    expect(canonicalJson({ b: [{ d: 1, c: undefined }], a: null })).toBe(
      canonicalJson({ a: null, b: [{ d: 1 }] }),
    );
  });

  it('tells different data apart', () => {
    expect(sha256(canonicalJson({ a: 1 }))).not.toBe(sha256(canonicalJson({ a: '1' })));
  });
});
