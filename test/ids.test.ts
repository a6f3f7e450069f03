import { describe, expect, it } from 'vitest';
import { isUuid, newApiKey, newId, randomBase62, sha256 } from '../src/ids.ts';
import { canonicalJson } from '../src/json.ts';

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

  it('knows its own UUIDs', () => {
    expect(isUuid(newId())).toBe(true);
    expect(isUuid(`${newId()}0`)).toBe(false);
  });
});

describe('canonical JSON', () => {
  it('gives equal text to equal data whatever the order of members', () => {
    expect(canonicalJson({ b: [{ d: 1, c: undefined }], a: null })).toBe(
      canonicalJson({ a: null, b: [{ d: 1 }] }),
    );
  });

  it('tells different data apart', () => {
    expect(sha256(canonicalJson({ a: 1 }))).not.toBe(sha256(canonicalJson({ a: '1' })));
  });
});
