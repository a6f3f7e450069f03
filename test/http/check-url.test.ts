import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkUrl } from '../../src/http/check-url.ts';
import { OutboundError } from '../../src/http/outbound.ts';

const failureOf = (text: string, allowsLoopback = false): string => {
  try {
    checkUrl(text, { allowsLoopback });
    return 'accepted';
  } catch (error) {
    if (error instanceof OutboundError) return error.failure;
    throw error;
  }
};

test.each([
  'https://example.com',
  'https://example.com:443/a?b=c#d',
  'HTTPS://EXAMPLE.com./a',
  'https://münchen.example/ä',
  'https://8.8.8.8/',
  'https://[2606:4700:4700::1111]/',
  'https://[::ffff:8.8.8.8]/',
  'https://example.com:8443/',
  'https://example.com:80/',
  'https://8.8.8.8:8443/',
  // Whether these are public, the look-up tells.
  'https://127.0.0.1.nip.io/',
  'https://metadata.google.internal/',
])('%s may be looked up', (url) => {
  expect(failureOf(url)).toBe('accepted');
});

test.each([
  '',
  'example.com',
  '//example.com/',
  'https://',
  'https:///',
  'http://example.com/',
  'http://example.com:443/',
  'ftp://example.com/',
  'file:///etc/passwd',
  'data:image/png;base64,AAAA',
  'javascript:alert(1)',
  'gopher://example.com:443/',
  'unix:/var/run/docker.sock',
  'https://example.com:65536/',
  'https://user@example.com/',
  'https://:secret@example.com/',
  'https://example.com@10.0.0.1/',
  'https://exa mple.com/',
  'https://[::1/',
  'https://example.com/\u0000',
  'https://example.com/a\nb',
  'https://[fe80::1%25eth0]/',
  'https://256.256.256.256/',
  `https://example.com/${'a'.repeat(8_192)}`,
])('%s is a bad URL', (url) => {
  expect(failureOf(url)).toBe('bad_url');
});

const loopbackUrls = [
  'https://127.0.0.1/',
  'https://127.1/',
  'https://127.0.1/',
  'https://2130706433/',
  'https://0x7f000001/',
  'https://0x7f.1/',
  'https://0177.0.0.1/',
  'https://017700000001/',
  'https://①②⑦.⓪.⓪.①/',
  'https://127。0。0。1/',
  'https://%31%32%37.0.0.1/',
  'https://127.0.0.1./',
  'https://[::1]/',
  'https://[0:0:0:0:0:0:0:1]/',
  'https://[::ffff:127.0.0.1]/',
  'https://[::ffff:7f00:1]/',
  'https://localhost/',
  'https://LOCALHOST./',
  'https://api.localhost/',
  'https:\\\\localhost\\',
  'https:localhost/',
];

const privateUrls = [
  'https://0/',
  'https://0.0.0.0/',
  'https://10.0.0.1/',
  'https://0xa9fea9fe/',
  'https://169.254.169.254/latest/meta-data/',
  'https://0251.0376.0251.0376/',
  'https://192.168.1.1/',
  'https://[::]/',
  'https://[::127.0.0.1]/',
  'https://[fd00:ec2::254]/',
  'https://[fe80::1]/',
  'https://[64:ff9b::7f00:1]/',
  'https://[2002:7f00:1::]/',
  'https://[::ffff:169.254.169.254]/',
];

test.each([...privateUrls, 'https://10.0.0.1:8443/'])('%s is not public', (url) => {
  expect(failureOf(url)).toBe('not_public');
});

test.each([...loopbackUrls, 'http://localhost:3000/a', 'http://127.0.0.1/', 'https://[::1]:8443/'])(
  '%s is this machine, and the refusal names the setting that allows it',
  (url) => {
    expect(failureOf(url)).toBe('loopback');
    expect(() => checkUrl(url, { allowsLoopback: false })).toThrow('ALLOW_LOOPBACK_URLS=true');
  },
);

test.each([...loopbackUrls, 'http://localhost:3000/a', 'http://127.0.0.1:80/', 'https://[::1]:8443/'])(
  'with loopback allowed, %s may be called',
  (url) => {
    expect(failureOf(url, true)).toBe('accepted');
  },
);

test.each([...privateUrls, 'http://10.0.0.1:3000/', 'http://[fd00::1]/', 'http://0.0.0.0/'])(
  'with loopback allowed, %s is still not public',
  (url) => {
    expect(failureOf(url, true)).toBe('not_public');
  },
);

test('with loopback allowed, a public address still needs https', () => {
  expect(failureOf('https://8.8.8.8/', true)).toBe('accepted');
  expect(failureOf('https://8.8.8.8:8443/', true)).toBe('accepted');
  expect(failureOf('http://8.8.8.8/', true)).toBe('bad_url');
  expect(failureOf('http://8.8.8.8:8080/', true)).toBe('bad_url');
  expect(failureOf('ftp://127.0.0.1/', true)).toBe('bad_url');
});

test('a name over plain http may be on this machine alone', () => {
  const allowed = (url: string, allowsLoopback: boolean): boolean[] => {
    const { allows } = checkUrl(url, { allowsLoopback });
    return [allows('loopback'), allows('public'), allows('refused')];
  };
  expect(allowed('http://example.com/', true)).toEqual([true, false, false]);
  for (const url of ['https://example.com/', 'https://example.com:8443/']) {
    expect(allowed(url, true)).toEqual([true, true, false]);
    expect(allowed(url, false)).toEqual([false, true, false]);
  }
});

test('whatever text comes, only https without credentials is accepted', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string(), fc.webUrl({ withFragments: true, withQueryParameters: true })),
      (text) => {
        if (failureOf(text) !== 'accepted') return;
        const { url } = checkUrl(text, { allowsLoopback: false });
        expect([url.protocol, url.username, url.password]).toEqual(['https:', '', '']);
      },
    ),
  );
});

test('refusals never repeat the URL', () => {
  for (const url of ['https://user:hunter2@example.com/', 'https://10.0.0.1/hunter2', 'hunter2']) {
    expect(() => checkUrl(url, { allowsLoopback: false })).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('hunter2') }),
    );
  }
});
