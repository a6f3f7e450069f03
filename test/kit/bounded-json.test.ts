import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bytesExcess, jsonExcess } from '../../src/kit/json.ts';

const nested = (levels: number): unknown => {
  let value: unknown = 0;
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { a: value };
  return value;
};

describe('the size of a request', () => {
  it('is accepted for usual requests', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(jsonExcess(value)).toBeNull();
      }),
    );
    expect(jsonExcess({ image: 'x'.repeat(10_000_000) })).toBeNull();
  });

  it('is refused for too many values, wherever they are', () => {
    expect(jsonExcess(Array.from({ length: 60_000 }, () => 0))).toMatch(/more than/);
    expect(jsonExcess(Array.from({ length: 300 }, () => Array.from({ length: 300 }, () => 0)))).toMatch(
      /more than/,
    );
    expect(
      jsonExcess(Object.fromEntries(Array.from({ length: 60_000 }, (_, index) => [index, index]))),
    ).toMatch(/more than/);
  });

  it('is refused for deep nesting', () => {
    expect(jsonExcess(nested(60))).toBeNull();
    expect(jsonExcess(nested(100))).toMatch(/deeper/);
    expect(jsonExcess(nested(1_000_000))).toMatch(/deeper/);
  });

  it('is told of the bytes of long JSON as of its values', () => {
    const long = (json: string): Buffer => Buffer.from(json + ' '.repeat(70_000));
    const excessOf = (value: unknown): string | null => bytesExcess(long(JSON.stringify(value)));
    fc.assert(
      fc.property(fc.jsonValue(), fc.string(), (value, text) => {
        expect([excessOf(value), excessOf({ [text]: '],["\\"{'.repeat(60_000) })]).toEqual([null, null]);
      }),
    );
    for (const count of [49_998, 49_999, 50_000, 50_001])
      for (const item of [0, {}, [], '",\\'])
        expect(excessOf(Array(count).fill(item))).toBe(jsonExcess(Array(count).fill(item)));
    for (const levels of [60, 64, 65, 100])
      for (const value of [nested(levels), [nested(levels - 1), 0]])
        expect(excessOf(value)).toBe(jsonExcess(value));
    expect(bytesExcess(long('['.repeat(10_000_000)))).toMatch(/deeper/);
    expect(bytesExcess(long('{},'.repeat(10_000_000)))).toMatch(/more than/);
  });
});
