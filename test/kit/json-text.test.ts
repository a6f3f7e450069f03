import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keepMemberText, parseKept, parseVerbatim, sourceText, toJsonText } from '../../src/kit/json.ts';

describe('the text of a member', () => {
  it('is that of the last member of its name, in any surroundings', () => {
    const name = fc.constantFrom('"custom"', '"c\\u0075stom"');
    const blank = fc.constantFrom('', ' ', '\n\t');
    const data = fc.dictionary(fc.string(), fc.jsonValue());
    fc.assert(
      fc.property(fc.json(), data, name, blank, (other, value, key, space) => {
        const text = JSON.stringify(value, null, space);
        const json = `{${space}"custom":[${other}],"b":${other},${key}${space}:${space}${text}${space},"c":${other}}`;
        const body = JSON.parse(json) as { custom: unknown };
        keepMemberText(body, 'custom', json);
        expect(sourceText(body.custom)).toBe(text);
        expect(sourceText(body)).toBeUndefined();
      }),
    );
  });

  it('is not kept for a missing member or one that is not an object', () => {
    for (const json of ['{"custom":1}', '{"custom":null}', '{"other":{}}', '[{"custom":{}}]', '"custom"']) {
      const body: unknown = JSON.parse(json);
      keepMemberText(body, 'custom', json);
      expect(toJsonText({ body })).toBe(`{"body":${json}}`);
    }
  });
});

it('is written as it was parsed, beside members that are written as JSON', () => {
  const text = '{ "b":1.0,"2":12345678901234567890,"1":-0,"b":"\\u00e9" }';
  const data = parseVerbatim(text);
  expect(toJsonText({ none: undefined, a: [1], data, z: 'ü' })).toBe(`{"a":[1],"data":${text},"z":"ü"}`);
  expect(JSON.stringify(data)).toBe('{"1":-0,"2":12345678901234567890,"b":"é"}');
});

it('is kept of a whole object, so that it is not written anew', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
      const text = JSON.stringify(value);
      expect(toJsonText(parseKept(text))).toBe(text);
      expect(parseKept(text)).toEqual(JSON.parse(text));
    }),
  );
});
