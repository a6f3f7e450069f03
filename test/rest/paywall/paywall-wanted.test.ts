import { describe, expect, it } from 'vitest';
import { isPaywallWanted } from '../../../src/rest/paywall/paywall-wanted.ts';

const chrome =
  'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,' +
  'application/signed-exchange;v=b3;q=0.7';

describe('a page instead of JSON', () => {
  it.each([
    ['Chrome opens the address', chrome],
    ['Firefox or Safari opens it', 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'],
    ['HTML alone is asked for', 'text/html'],
    ['HTML weighs more than JSON', 'application/json;q=0.5, text/html;q=0.6'],
    ['JSON is named as unwanted', 'text/html;q=0.1, application/json;q=0, */*'],
    ['names are in upper case, with blanks and parameters', 'TEXT/HTML ; charset=utf-8 ; Q=.9 , */* ; q=.8'],
  ])('is wanted where %s', (_case, accept) => {
    expect(isPaywallWanted({ accept })).toBe(true);
  });

  it.each([
    ['nothing is asked for', undefined],
    ['the header is empty', ''],
    ['everything will do, as for fetch and curl', '*/*'],
    ['a script asks for JSON and takes anything', 'application/json, text/plain, */*'],
    ['HTML and JSON are liked the same', 'text/html, application/json'],
    ['HTML and everything are liked the same', 'text/html, */*'],
    ['JSON weighs more', 'text/html;q=0.8, application/json;q=0.9'],
    ['a family that JSON belongs to weighs more', 'text/html;q=0.8, application/*;q=0.9'],
    ['HTML is refused', 'text/html;q=0'],
    ['HTML is not named itself', 'text/*, application/xhtml+xml'],
    ['the weight of HTML is none', 'text/html;q=high'],
    ['the weight of JSON is none', 'text/html;q=0.5, application/json;q=.'],
    ['a Java program asks for nothing in particular', 'text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2'],
    ['a newer Java program does', 'text/html, image/gif, image/jpeg, */*; q=0.2'],
  ])('is not wanted where %s', (_case, accept) => {
    expect(isPaywallWanted({ accept })).toBe(false);
  });

  it.each(['payment-signature', 'x-payment'])(
    'is never wanted by who sends %s, even an empty one',
    (name) => {
      expect(isPaywallWanted({ accept: chrome, [name]: 'proof' })).toBe(false);
      expect(isPaywallWanted({ accept: chrome, [name]: '' })).toBe(false);
    },
  );
});
