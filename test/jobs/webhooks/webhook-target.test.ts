import { expect, test } from 'vitest';
import { webhookTargetProblem } from '../../../src/operations/webhook-url.ts';

const longest = `https://example.com/${'a'.repeat(2_048 - 'https://example.com/'.length)}`;
const loopback =
  'The host of the URL is this machine itself. The operator of a gateway for development allows that with ' +
  'ALLOW_LOOPBACK_URLS=true.';

test.each(['https://example.com/hooks?token=1', 'https://example.com:8443/', 'https://8.8.8.8/', longest])(
  '%s can be taken',
  (url) => {
    expect(webhookTargetProblem(url, { allowsLoopback: false })).toBeNull();
  },
);

test.each([
  ['http://example.com/', 'The URL must begin with https://.'],
  ['example.com', 'The URL is not a complete URL.'],
  ['https://me:secret@example.com/', 'The URL must not have a user name or password in it.'],
  ['https://10.0.0.1/', 'The host of the URL is not a public address.'],
  ['https://10.0.0.1:8443/', 'The host of the URL is not a public address.'],
  ['https://[::ffff:169.254.169.254]/', 'The host of the URL is not a public address.'],
  ['https://0x7f.1/', loopback],
  ['https://localhost/', loopback],
  ['http://localhost:3000/hook', loopback],
  [`${longest}a`, 'The URL is longer than 2048 characters.'],
])('%s is refused: %s', (url, problem) => {
  expect(webhookTargetProblem(url, { allowsLoopback: false })).toBe(problem);
});

test('if loopback is allowed, plain http to this machine on any port is accepted, and no other private address', () => {
  expect(webhookTargetProblem('http://localhost:3000/hook', { allowsLoopback: true })).toBeNull();
  expect(webhookTargetProblem('http://127.0.0.1:3000/hook', { allowsLoopback: true })).toBeNull();
  expect(webhookTargetProblem('http://192.168.1.2:3000/hook', { allowsLoopback: true })).not.toBeNull();
});
