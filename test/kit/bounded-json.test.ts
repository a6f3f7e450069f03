import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonExcess } from '../../src/kit/json.ts';

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
});
