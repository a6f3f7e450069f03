import { describe, expect, it } from 'vitest';
import { follow, parsePointer } from '../../src/kit/json-pointer.ts';

/** The document of RFC 6901, section 5. */
const document = {
  foo: ['bar', 'baz'],
  '': 0,
  'a/b': 1,
  'c%d': 2,
  'e^f': 3,
  'g|h': 4,
  'i\\j': 5,
  'k"l': 6,
  ' ': 7,
  'm~n': 8,
};

describe('a JSON pointer', () => {
  it.each([
    ['', document],
    ['/foo', ['bar', 'baz']],
    ['/foo/0', 'bar'],
    ['/', 0],
    ['/a~1b', 1],
    ['/c%d', 2],
    ['/e^f', 3],
    ['/g|h', 4],
    ['/i\\j', 5],
    ['/k"l', 6],
    ['/ ', 7],
    ['/m~0n', 8],
  ])('%j leads where RFC 6901 says', (pointer, value) => {
    expect(follow(document, parsePointer(pointer))).toEqual(value);
  });

  it.each(['/foo/2', '/foo/length', '/foo/-', '/foo/0/0', '/toString', '/__proto__', '/foo/map', '/x/y'])(
    '%j leads nowhere',
    (pointer) => {
      expect(follow(document, parsePointer(pointer))).toBeUndefined();
    },
  );
});
